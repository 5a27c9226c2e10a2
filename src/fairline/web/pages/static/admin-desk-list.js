// Lists that change while someone uses them: an element whose item has not changed stays, and keeps its focus.

/** The elements of a list, by ticket. `build(item)` builds an element again only if `facts(item)` has changed. */
export class KeyedList {
  constructor(element, build, facts) {
    this.element = element;
    this.build = build;
    this.facts = facts;
    this.shown = new Map();
  }

  draw(items) {
    const before = this.shown;
    this.shown = new Map();
    items.forEach((item, i) => {
      const key = item.ticket,
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
    const act = old.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    old.replaceWith(made);
    if (act)
      (
        made.querySelector(`[data-act="${act}"]:not(:disabled)`) ?? made.querySelector("button:not(:disabled)")
      )?.focus();
    return made;
  }
}
