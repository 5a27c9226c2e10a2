// A colour, and an image that becomes a part of the page.

import { h } from "./admin-dom.js";
import { t } from "./admin-text.js";

const COLOUR = /^#[0-9a-f]{6}$/i;

const changed = (element) => element.dispatchEvent(new Event("input", { bubbles: true }));

export function colour(_, props) {
  const text = h("input", {
      ...props,
      type: "text",
      class: "hex",
      maxlength: 7,
      placeholder: t("colour_none"),
      dir: "ltr",
    }),
    picker = h("input", { type: "color", "aria-label": t("colour_pick") }),
    clear = h("button", { type: "button", class: "button small quiet" }, t("setting_clear"));
  const draw = () => {
    const set = COLOUR.test(text.value);
    picker.value = set ? text.value.toLowerCase() : "#ffffff";
    picker.classList.toggle("unset", !set);
    clear.hidden = !text.value;
  };
  text.addEventListener("input", draw);
  picker.addEventListener("input", () => {
    text.value = picker.value;
    draw();
  });
  clear.addEventListener("click", () => {
    text.value = "";
    draw();
    changed(text);
  });
  return {
    element: h("span", { class: "row" }, picker, text, clear),
    get: () => text.value.trim(),
    set: (value) => {
      text.value = value;
      draw();
    },
  };
}

/** The widths that a picture is tried at until it is small enough, and how well it is kept. */
const WIDTHS = [480, 360, 240, 160, 120],
  TALLEST = 160,
  QUALITIES = [0.92, 0.8, 0.6];
const KINDS = ["image/png", "image/jpeg", "image/webp", "image/gif", "image/svg+xml"];

const read = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = reject;
    reader.readAsDataURL(file);
  });

async function loaded(address) {
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  return picture;
}

/** The image as a `data:` address of at most `longest` characters: as it is if it fits, or else drawn smaller. What is
 *  no image, or cannot be made small enough, is refused. A drawn image has nothing of the file but its pixels. */
async function fitted(file, longest) {
  if (!KINDS.includes(file.type)) throw new Error(t("image_kind"));
  const address = await read(file);
  const picture = await loaded(address).catch(() => {
    throw new Error(t("image_broken"));
  });
  if (address.length <= longest) return address;
  const canvas = document.createElement("canvas");
  for (const widest of WIDTHS) {
    const width = picture.naturalWidth || widest,
      height = picture.naturalHeight || TALLEST;
    const times = Math.min(widest / width, TALLEST / height, 1);
    canvas.width = Math.max(1, Math.round(width * times));
    canvas.height = Math.max(1, Math.round(height * times));
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    for (const quality of QUALITIES) {
      const smaller = canvas.toDataURL("image/webp", quality); // a PNG in browsers that cannot write WebP
      if (smaller.length <= longest) return smaller;
    }
  }
  throw new Error(t("image_large"));
}

export function image({ longest }, props) {
  let value = "";
  const shown = h("img", { class: "logo-shown", alt: "", hidden: true }),
    wrong = h("p", { class: "wrong", role: "alert", hidden: true }),
    file = h("input", { ...props, type: "file", accept: KINDS.join(",") }),
    clear = h("button", { type: "button", class: "button small quiet" }, t("setting_remove"));
  const draw = () => {
    shown.hidden = clear.hidden = !value;
    if (value) shown.src = value;
    else shown.removeAttribute("src");
  };
  file.addEventListener("change", async (event) => {
    event.stopPropagation();
    wrong.hidden = true;
    try {
      if (!file.files.length) return;
      value = await fitted(file.files[0], longest);
      draw();
      changed(file);
    } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = false;
    }
    file.value = "";
  });
  clear.addEventListener("click", () => {
    value = "";
    draw();
    changed(file);
  });
  return {
    element: h("div", { class: "stack" }, shown, h("span", { class: "row" }, file, clear), wrong),
    get: () => value,
    set: (set) => {
      value = set;
      wrong.hidden = true;
      draw();
    },
  };
}
