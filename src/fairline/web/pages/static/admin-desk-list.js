// Lists that change under the fingers of whoever uses them: what has not changed stays where it is, with its focus.

/** Elements by key in their order; `build(item)` makes one anew only where `facts(item)` differ. */
export class Kept {
  constructor(element, build, facts) {
    this.element = element;
    this.build = build;
    this.facts = facts;
    this.there = new Map();
  }

  draw(items) {
    const before = this.there;
    this.there = new Map();
    items.forEach((item, i) => {
      const key = item.ticket,
        facts = this.facts(item),
        old = before.get(key);
      const made = old?.facts === facts ? old.element : this.remade(old?.element, this.build(item));
      before.delete(key);
      this.there.set(key, { facts, element: made });
      if (this.element.children[i] !== made) this.element.insertBefore(made, this.element.children[i] ?? null);
    });
    for (const { element } of before.values()) element.remove();
  }

  /** In the place of the old one, with the focus on the same control, or on what can be done instead. */
  remade(old, made) {
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
