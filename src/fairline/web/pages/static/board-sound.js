/**
 * The sound of a board: it plays a chime, then speaks the call, one call after another. Browsers allow it once someone
 * has pressed the page.
 */

/** The most calls that wait to be spoken. */
const MOST_SPOKEN = 5;
const KEPT = "fairline:board:sound";

const remember = (on) => {
  try {
    localStorage.setItem(KEPT, on ? "on" : "off");
  } catch {
    /* without storage, for this visit only */
  }
};
const remembered = () => {
  try {
    return localStorage.getItem(KEPT) === "on";
  } catch {
    return false;
  }
};
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class BoardSound {
  #on = false;
  #busy = false;
  #waiting = [];
  #audio;
  #button;
  #lang;
  #texts;

  /** The button that turns it on, the language of what is spoken, and the texts of the button. */
  constructor(button, lang, texts) {
    this.#button = button;
    this.#lang = lang;
    this.#texts = texts;
  }

  /** Show the button, where the browser has sound. */
  async offer() {
    const button = this.#button;
    this.#draw();
    if (!window.AudioContext) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const on = await this.#turn(!this.#on);
      remember(on);
      if (on) this.#chime();
    });
    // A browser that allows sound without a press plays it again after a restart; any other one after the first press.
    if (!remembered() || (await this.#turn(true))) return;
    const press = (pressed) => {
      if (remembered() && !this.#on && pressed.target !== button) this.#turn(true);
    };
    for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, press, { once: true });
  }

  /** Speak these words when the calls before are spoken, if the sound is on. */
  queue(words) {
    if (!this.#on) return;
    this.#waiting = [...this.#waiting, words].slice(-MOST_SPOKEN);
    if (!this.#busy) this.#run();
  }

  async #turn(on) {
    this.#on = on;
    if (on) {
      this.#audio ??= new AudioContext();
      await Promise.race([this.#audio.resume(), rest(500)]).catch(() => {});
      this.#on = this.#audio.state !== "suspended";
    }
    this.#draw();
    return this.#on;
  }

  #draw() {
    const text = this.#on ? this.#texts.board_sound_off : this.#texts.board_sound_on;
    if (this.#button.textContent !== text) this.#button.textContent = text;
    this.#button.setAttribute("aria-pressed", String(this.#on));
  }

  async #run() {
    this.#busy = true;
    while (this.#on && this.#waiting.length) {
      const words = this.#waiting.shift();
      try {
        this.#chime();
        await rest(1_000);
        await this.#speak(words);
      } catch {
        /* a screen without sound still shows the number */
      }
    }
    this.#waiting = [];
    this.#busy = false;
  }

  #chime() {
    [
      [660, 0],
      [880, 0.3],
    ].forEach(([pitch, after]) => {
      const tone = this.#audio.createOscillator(),
        volume = this.#audio.createGain(),
        at = this.#audio.currentTime + after;
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(0.3, at);
      volume.gain.exponentialRampToValueAtTime(0.001, at + 0.8);
      tone.connect(volume).connect(this.#audio.destination);
      tone.start(at);
      tone.stop(at + 0.8);
    });
  }

  /** Some browsers never report the end, so wait for 10 s at most. */
  async #speak(words) {
    if (!window.speechSynthesis) return;
    const utterance = new SpeechSynthesisUtterance(words);
    utterance.lang = this.#lang;
    utterance.rate = 0.9;
    const done = new Promise((resolve) => {
      utterance.onend = utterance.onerror = resolve;
    });
    speechSynthesis.speak(utterance);
    await Promise.race([done, rest(10_000)]);
  }
}
