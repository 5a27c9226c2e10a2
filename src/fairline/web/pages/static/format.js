/**
 * Numbers and waits in words, for the waiting page and the board. The rules are those of pages/languages.py, which says
 * the same things on the server; a test compares the two.
 */

/** The locale for times and dates. Arabic pages write them with the digits 0 to 9, as they write every other number. */
export const timeLocale = (locale) => (locale?.split("-")[0] === "ar" ? `${locale}-u-nu-latn` : locale);

/** Put values in the place of `{name}`. A name without a value stays: an operator's text may contain braces. */
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder);

/** The functions for one language, with the texts of its catalogue. */
export function formatter(language = "en", texts = {}) {
  const plurals = new Intl.PluralRules(language);

  /** A number with the separator between thousands. */
  const number = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, texts.group);

  /** The text that counts something, in the form for `n`; `shown` is written in the place of `n`. */
  const count = (name, n, shown = number(n)) => fill(texts[name][plurals.select(n)] ?? texts[name].other, { n: shown });

  /** A range of seconds as a wait, such as "about 10–15 minutes". */
  function wait(range) {
    if (!range) return texts.wait_unknown;
    const [low, high] = range;
    if (high <= 60) return texts.wait_soon;
    if (low >= 12 * 3600) return count("wait_long", 12);
    const [name, unit] = high <= 90 * 60 ? ["wait_minutes", 60] : ["wait_hours", 3600];
    const step = unit === 60 && high > 10 * unit ? 5 : 1;
    const most = Math.ceil(high / unit / step) * step;
    const least = Math.min(Math.max(Math.floor(low / unit / step + 0.5) * step, 1), most);
    return count(name, most, least < most ? `${least}–${most}` : undefined);
  }

  /** What is said where there is no estimate: the shortest wait, or else how fast people go in. */
  function noWait(leastSeconds = 0, perMinute = 0) {
    if (leastSeconds >= 60) return count("wait_at_least", Math.floor(leastSeconds / 60));
    return perMinute >= 1 ? count("wait_pace", Math.floor(perMinute + 0.5)) : texts.wait_unknown;
  }

  return { number, count, wait, noWait };
}
