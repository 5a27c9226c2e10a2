/** The poster's one button. */
for (const button of document.querySelectorAll('[data-do="print"]')) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
