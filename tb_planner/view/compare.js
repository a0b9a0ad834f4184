// A second run beside the first, on one time line, and the first tick at which the two differ.
// The longer run leads: its ticks are the ticks of the page. The other one shows its last tick at or before that time.

const SEARCH_MS = 6; // of a search for the first difference between two frames of the page
const SAME_PLACE = 1e-3; // cells

class Companion {
  constructor(page, holder) {
    const { title, side } = holder.dataset;
    this.page = page;
    this.holder = holder;
    this.name = title;
    this.record = new Record();
    const frames = new KeyFrames();
    this.replay = new Replay(this.record, frames);
    this.scout = new Replay(this.record, frames, true);
    this.tick = 0;
    document.body.classList.add('two');
    document.body.classList.toggle('swapped', side === 'left');
    this.buildStage();
    this.buildHeading();
    this.buildButton();
    this.scene = new Scene(this.canvas, this.record, this.replay);
    this.scene.hidden = page.scene.hidden; // the legend is for both
    this.figures = new Figures(this.record, page.timeline, this.scene.why, new Lengths(this.record));
    page.controls.listenToMap(this.canvas, false);
    page.timeline.add(this.record, () => this.tick);
  }

  buildStage() {
    const stage = element('section', '', 'stage second');
    stage.setAttribute('aria-label', `Map of ${this.name}`);
    this.canvas = document.createElement('canvas');
    this.canvas.setAttribute('role', 'img');
    const chips = element('div', '', 'chips');
    this.status = element('span', '', 'chip');
    this.restarted = element('span', '', 'chip restart');
    chips.append(element('span', this.name, 'chip name'), this.status, this.restarted);
    stage.append(this.canvas, chips);
    const first = $('map').parentElement;
    first.after(stage);
    first.querySelector('.chips').prepend(element('span', $('title').textContent, 'chip name'));
    $('restarts-title').after(element('p', `of ${$('title').textContent}`, 'whose'));
  }

  buildHeading() {
    const heading = element('div', '', 'heading second');
    this.facts = element('p', '', 'facts');
    heading.append(element('h1', this.name), this.facts);
    document.querySelector('.heading').after(heading);
    const names = [$('title').textContent, this.name];
    document.title = (document.body.classList.contains('swapped') ? names.reverse() : names).join(' and ');
  }

  buildButton() {
    this.button = element('button', '≠');
    this.button.type = 'button';
    this.button.id = 'difference';
    this.button.setAttribute('aria-label', 'First difference');
    this.button.title = 'The first difference is being looked for';
    this.button.disabled = true;
    this.button.addEventListener('click', () => this.goToDifference());
    $('overrun').parentElement.append(this.button);
  }

  async load() {
    await this.record.appendAll(bodies(fromPieces(this.holder)), () => {});
    if (!this.record.ticks) throw new Error(`The record of ${this.name} contains no ticks.`);
    const duration = this.record.duration.values.slice(0, this.record.ticks);
    this.percentiles = percentilesText(duration);
  }

  // Runs ahead for key frames, and then looks for the first difference, both between frames of the page.
  prepare() {
    const { scout, record } = this;
    const search = new Difference(this.page.record, record);
    const go = () => {
      const end = performance.now() + SEARCH_MS;
      while (scout.tick + 1 < record.ticks && performance.now() < end) scout.step();
      if (!search.goOn(end)) setTimeout(() => this.page.attempt(go), 4);
      else this.show(search.found);
    };
    this.page.attempt(go);
  }

  show(found) {
    this.found = found;
    this.button.disabled = !found;
    this.button.title = found ? `First difference: ${this.timeOf(found).toFixed(2)} s (G)` : 'No difference';
    this.isCompared = true;
  }

  timeOf({ tick }) {
    const { record } = this.page;
    return record.time.values[Math.min(tick, record.ticks - 1)];
  }

  // Shows the same tick of both runs, whatever their times are.
  goToDifference() {
    if (!this.found) {
      note(this.isCompared ? 'the runs do not differ' : this.button.title);
      return;
    }
    const { page, found } = this;
    page.pause();
    const target = Math.min(found.tick, page.record.ticks - 1);
    this.pinned = { target, tick: Math.min(found.tick, this.record.ticks - 1) };
    page.goTo(target);
    note(`first difference at tick ${count(found.tick)}: ${found.what.join(', ')}`);
  }

  tickFor(target) {
    if (this.pinned?.target === target) return this.pinned.tick;
    return this.record.tickAt(this.page.record.time.values[target]);
  }

  // Goes to the time of a tick of the leading run; returns whether it has arrived.
  frame(target) {
    const { record, replay, scene } = this;
    this.tick = this.tickFor(target);
    const isThere = replay.seek(this.tick, SLICE_MS);
    this.place();
    if (isThere || !this.isDrawn) scene.draw();
    this.isDrawn = true;
    const isOver = this.tick === record.ticks - 1 && record.time.last < this.page.record.time.values[target];
    this.facts.textContent = `${this.figures.factsText(this.tick)} · ${this.percentiles}`;
    this.status.textContent = words(Record.at(record.statuses, this.tick)?.status || '') + (isOver ? ' (end)' : '');
    const restart = Record.at(record.restarts, this.tick);
    const isNew = restart && record.time.values[this.tick] - record.time.values[restart.tick] < 0.5;
    this.restarted.hidden = !isNew;
    if (isNew) this.restarted.textContent = `restart: ${reasonText(restart.restarts)}`;
    this.showFigures();
    this.canvas.setAttribute('aria-label', `Map of ${this.name} at tick ${this.tick} of ${record.ticks - 1}, ${this.status.textContent}`);
    return isThere && scene.why.isComplete;
  }

  // The same part of the map, as large, and in the same colours as the other map.
  place() {
    const { scene, replay, page: { scene: first, replay: other } } = this;
    const look = [document.documentElement.dataset.theme, ...scene.hidden].join();
    if (look !== this.look) scene.readColours();
    this.look = look;
    if (!replay.width || !other.width || !first.scale) return;
    scene.isFitted = first.isFitted;
    scene.x = (first.x / other.width) * replay.width;
    scene.y = (first.y / other.height) * replay.height;
    scene.scale = (first.scale * other.width) / replay.width;
  }

  // The figures of this run beside those of the first.
  showFigures() {
    this.figures.rows(this.tick).forEach(([, text], i) => {
      const row = $('figures').children[i];
      if (!row) return;
      if (row.childElementCount < 3) row.append(element('dd', '', 'second'));
      if (row.lastChild.textContent !== text) row.lastChild.textContent = text;
    });
  }
}

// Looks for the first tick at which the status, what is left of the route, the waypoint or the map differ. Ticks are
// compared by their number: times differ a little in any two runs.
class Difference {
  constructor(...records) {
    this.records = records;
    this.maps = records.map((record) => new Replay(record, new KeyFrames()));
    this.tick = 0;
  }

  // Returns whether the search has ended; until then it goes on until this time of the page.
  goOn(end) {
    const [a, b] = this.records;
    const last = Math.min(a.ticks, b.ticks);
    for (; this.tick < last; this.tick++) {
      if (this.tick % 16 === 0 && performance.now() > end) return false;
      const what = this.at(this.tick);
      if (!what.length) continue;
      this.found = { tick: this.tick, what };
      return true;
    }
    if (a.ticks !== b.ticks) this.found = { tick: last, what: ['one run has ended'] };
    return true;
  }

  at(tick) {
    const checks = { status: this.isSameStatus(tick), route: this.isSameRoute(tick), waypoint: this.isSameWaypoint(tick), map: this.isSameMap(tick) };
    return Object.keys(checks).filter((name) => !checks[name]);
  }

  isSameStatus(tick) {
    const [a, b] = this.records.map((record) => Record.at(record.statuses, tick)?.status);
    return a === b;
  }

  // What was the same before, and has no new route, is the same if as much of it is left.
  isSameRoute(tick) {
    const [a, b] = this.records;
    if (a.left.values[tick] !== b.left.values[tick]) return false;
    const isNew = (a.flags.values[tick] | b.flags.values[tick]) & NEW_ROUTE || !(a.left.values[tick - 1] > 0);
    if (!isNew || !a.left.values[tick]) return true;
    return areSame(a.routeAhead(tick), b.routeAhead(tick));
  }

  isSameWaypoint(tick) {
    const [a, b] = this.records;
    if ((a.flags.values[tick] ^ b.flags.values[tick]) & HAS_WAYPOINT) return false;
    if (!(a.flags.values[tick] & HAS_WAYPOINT)) return true;
    return ['waypointX', 'waypointY'].every((name) => Math.abs(a[name].values[tick] - b[name].values[tick]) < SAME_PLACE);
  }

  // All cells are compared when a map is new, or when the two maps have changed differently.
  isSameMap(tick) {
    const changes = this.records.map((record, i) => {
      const map = record.map(tick), replay = this.maps[i];
      if (!map) return '';
      if (map.tick === tick) replay.begin(map);
      replay.change(tick);
      const bytes = record.chunks[record.chunk.values[tick]].changes.subarray(record.changesAt.values[tick], record.changesEnd.values[tick]);
      return map.tick === tick ? undefined : bytes;
    });
    const [a, b] = this.maps;
    if (placeText(a.map) !== placeText(b.map)) return false;
    if (changes[0] !== undefined && changes[1] !== undefined && areSame(...changes)) return true;
    return areSame(a.cells, b.cells);
  }
}

function placeText(map) {
  const { width, height, resolution_m, origin, neighbours, corner_cutting } = map?.facts || {};
  return JSON.stringify([width, height, resolution_m, origin, neighbours, corner_cutting]);
}

function areSame(a, b) {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
