// The texts of the pages in the reader's language: those that the page's scripts ask for, as the server found them.

import { fill, formatter } from "./format.js";

const { lang: code, words } = JSON.parse(document.getElementById("fairline").textContent);
export const lang = code;
/** The locale of numbers and times. All languages write them with the digits 0 to 9; English has days before months. */
export const locale = { ar: "ar-u-nu-latn", en: "en-GB", pt: "pt-BR" }[lang] ?? lang;
/** Whether there is a text of this name. */
export const known = (name) => name in words;
const format = formatter(lang, words),
  whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }),
  fine = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });

/** A number with the separators of the language. */
export const number = (value) =>
  value === null || value === undefined
    ? "–"
    : Math.abs(value) < 10 && value % 1
      ? fine.format(value)
      : whole.format(value);

/** The text of a name, with values put in the place of `{…}`. The name is written out where it is used, or at least
 *  how it begins, as in t(`role_${role}`): the server looks for it there. */
export const t = (name, values = {}) => fill(words[name], values);

/** A text that counts something, in the form for `n`. */
export const count = (name, n, values = {}) => fill(format.count(name, n, number(n)), values);
