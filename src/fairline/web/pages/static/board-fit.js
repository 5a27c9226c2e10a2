// What makes the contents of a board as large as its screen allows.

/** Make the number as large as fits into its part of the panel. */
export function fitNumber(call) {
  const number = call.firstElementChild;
  if (call.hidden || !number.textContent) return;
  call.style.setProperty("--size", "100px");
  const { offsetWidth: width, offsetHeight: height } = number;
  const times = Math.min(call.clientWidth / width, call.clientHeight / height) || 1;
  call.style.setProperty("--size", `${Math.floor(100 * times)}px`);
}

/** Hide the rows that do not fit, in this order of lists. Each list is in a box, with its title. */
export function fitRows(lists, boxes) {
  const found = boxes.map((box) => [box, [...box.querySelectorAll("li")]]);
  for (const [box, rows] of found) {
    box.hidden = rows.length === 0;
    for (const row of rows) row.hidden = false;
  }
  for (const [box, rows] of found) {
    for (const row of rows.reverse()) {
      if (lists.scrollHeight <= lists.clientHeight + 1) return;
      row.hidden = true;
      box.hidden = row === rows.at(-1);
    }
  }
}
