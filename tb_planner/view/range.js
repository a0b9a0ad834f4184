// The part of the run that is played, from A to B, and the ticks that are worth a jump.

class PlayRange {
  constructor(page) {
    this.page = page;
    this.from = this.to = undefined; // ticks
    this.isLooping = false;
  }

  // The first and the last tick to play.
  get limits() {
    const last = Math.max(this.page.record.ticks - 1, 0);
    return [this.from ?? 0, Math.min(this.to ?? last, last)];
  }

  get isSet() {
    return this.from !== undefined || this.to !== undefined;
  }

  // A range ends after it begins: the other end goes if it would not.
  begin(tick) {
    this.from = tick;
    if (this.to <= tick) this.to = undefined;
    this.show();
  }

  end(tick) {
    this.to = tick;
    if (this.from >= tick) this.from = undefined;
    this.show();
  }

  clear() {
    this.from = this.to = undefined;
    this.show();
  }

  loop(isLooping) {
    this.isLooping = isLooping;
    this.show();
  }

  show() {
    const { record } = this.page;
    const [from, to] = this.limits;
    $('range-begin').setAttribute('aria-pressed', String(this.from !== undefined));
    $('range-end').setAttribute('aria-pressed', String(this.to !== undefined));
    $('loop').setAttribute('aria-pressed', String(this.isLooping));
    $('range-clear').hidden = $('range').hidden = !this.isSet;
    if (!record.ticks) return;
    this.place();
    note(this.isSet ? `from ${record.time.values[from].toFixed(2)} s to ${record.time.values[to].toFixed(2)} s` : '');
  }

  // Marks the range on the strips; ticks move there while a run grows.
  place() {
    const { timeline } = this.page;
    const [left, right] = this.limits.map((tick) => (timeline.xOf(tick) / Math.max(timeline.width, 1)) * 100);
    $('range').style.left = `${left}%`;
    $('range').style.right = `${100 - right}%`;
  }
}

// Whether a tick took longer than the budget.
function isOverrun(record, tick) {
  const budget = 1000 * (record.head.budget_s || 0);
  return budget > 0 && record.duration.values[tick] > budget;
}

// The next tick in this direction that is one; undefined if there is none. Of ticks in a row, the first is one.
function nextOverrun(record, tick, direction) {
  for (let t = tick + direction; t >= 0 && t < record.ticks; t += direction) {
    if (isOverrun(record, t) && !(t > 0 && isOverrun(record, t - 1))) return t;
  }
  return undefined;
}

// The next of these events in this direction, if any.
function nextEvent(events, tick, direction) {
  return direction > 0 ? events[Record.indexAt(events, tick) + 1]?.tick : events[Record.indexAt(events, tick - 1)]?.tick;
}
