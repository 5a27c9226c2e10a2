// Lists that change while someone uses them: an element whose item has not changed stays, and keeps its focus.

/** The elements of a list, by ticket or by another key. `build(item)` builds an element again only if `facts(item)` has
 *  changed. */
export class KeyedList {
  constructor(element, build, facts, keyOf = (ticket) => ticket.ticket) {
    this.element = element;
    this.build = build;
    this.facts = facts;
    this.keyOf = keyOf;
    this.shown = new Map();
  }

  draw(items) {
    const before = this.shown;
    this.shown = new Map();
    items.forEach((item, i) => {
      const key = this.keyOf(item),
        facts = this.facts(item),
        old = before.get(key);
      const made = old?.facts === facts ? old.element : this.replaced(old?.element, this.build(item));
      before.delete(key);
      this.shown.set(key, { facts, element: made });
      if (this.element.children[i] !== made) this.element.insertBefore(made, this.element.children[i] ?? null);
    });
    for (const { element } of before.values()) element.remove();
  }

  /** Replace an element. The focus goes to the same control, or to the first one if that is gone. */
  replaced(old, made) {
    if (!old) return made;
    const has = old.contains(document.activeElement),
      act = has ? document.activeElement.dataset.act : null;
    const whole = has && old === document.activeElement;
    old.replaceWith(made);
    if (whole) made.focus({ preventScroll: true });
    else if (act)
      (
        made.querySelector(`[data-act="${act}"]:not(:disabled)`) ?? made.querySelector("button:not(:disabled)")
      )?.focus();
    return made;
  }
}
