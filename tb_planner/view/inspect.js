// A pinned cell: its class, its part in the search, and its branch to the root.

const NO_DIRECTION = 255, ROOT = 8;
const STEPS = [[0, -1], [1, 0], [0, 1], [-1, 0], [1, -1], [1, 1], [-1, 1], [-1, -1]]; // as format.py has them

// The tree of one search: the parent of each expanded state, and when it was expanded.
class Tree {
  constructor(record, frames) {
    this.record = record;
    this.frames = frames;
    this.began = this.end = -1;
    this.known = new Map(); // g by state, of this search
  }

  // Reads what the search of this tick has expanded until then.
  read(tick) {
    const { record } = this;
    const began = record.searchTick.values[tick];
    const { width, height } = (this.facts = record.map(tick).facts);
    if (began !== this.began || this.when.length !== width * height) {
      this.began = began;
      this.end = began - 1;
      this.when = new Int32Array(width * height).fill(-1);
      this.directions = new Uint8Array(width * height).fill(NO_DIRECTION);
      this.known.clear();
      this.past = undefined;
    }
    while (this.end < tick) this.readTick(++this.end);
    this.tick = tick;
  }

  readTick(tick) {
    const { record, when, directions } = this;
    const chunk = record.chunks[record.chunk.values[tick]];
    const numbers = new Numbers(chunk.expanded, record.expandedAt.values[tick], record.expandedEnd.values[tick]);
    let at = record.parentsAt.values[tick];
    const last = record.parentsEnd.values[tick];
    for (let s = 0; numbers.left; ) {
      s = Math.min(s + numbers.next(), when.length);
      const end = Math.min(s + numbers.next(), when.length);
      for (; s < end; s++) {
        when[s] = tick;
        if (at < last) directions[s] = chunk.parents[at++];
      }
    }
  }

  isExpanded(s) {
    return this.when[s] >= 0 && this.when[s] <= this.tick;
  }

  // The parent of an expanded state; undefined for the root, and if the record does not hold it.
  parent(s) {
    const step = STEPS[this.directions[s]];
    if (!step) return undefined;
    const { width, height } = this.facts;
    const x = (s % width) - step[0], y = Math.floor(s / width) - step[1];
    return x < 0 || y < 0 || x >= width || y >= height ? undefined : y * width + x;
  }

  // The states from an expanded one to the root; undefined if the record does not lead there.
  branch(s) {
    const found = [s];
    while (this.directions[s] !== ROOT) {
      s = this.parent(s);
      if (s === undefined || !this.isExpanded(s) || found.length > this.when.length) return undefined;
      found.push(s);
    }
    return found;
  }

  // The class of each of these states at any tick of the search.
  classes(states) {
    const { record, began, tick } = this;
    if (!this.past) {
      this.past = new Replay(record, this.frames);
      this.past.seek(began);
    }
    const wanted = new Set(states);
    const changes = new Map();
    for (let t = began + 1; t <= tick; t++) {
      const from = record.changesAt.values[t], to = record.changesEnd.values[t];
      const numbers = new Numbers(record.chunks[record.chunk.values[t]].changes, from, to);
      for (let s = 0; numbers.left; ) {
        s = Math.min(s + numbers.next(), this.when.length);
        const end = Math.min(s + numbers.next(), this.when.length), kind = numbers.next();
        for (; s < end; s++) {
          if (!wanted.has(s)) continue;
          if (!changes.has(s)) changes.set(s, []);
          changes.get(s).push([t, kind]);
        }
      }
    }
    return (s, at) => changes.get(s)?.findLast(([t]) => t <= at)?.[1] ?? this.past.cells[s];
  }

  // g of the states of a branch from the root on: {g, isNear, isLeast}. A step costs what it did when its first state
  // was expanded. The classes of cells are as near as 1 %, and those of unknown cells have no cost.
  costs(branch, classAt) {
    const from = branch.findIndex((s) => this.known.has(s));
    let sum = from < 0 ? { g: 0, isNear: false, isLeast: false } : this.known.get(branch[from]);
    for (let i = (from < 0 ? branch.length : from) - 1; i >= 0; i--) {
      if (i < branch.length - 1) sum = this.step(sum, branch[i + 1], branch[i], classAt);
      this.known.set(branch[i], sum);
    }
    return sum;
  }

  step({ g, isNear, isLeast }, from, to, classAt) {
    const { width } = this.facts;
    const isDiagonal = from % width !== to % width && Math.floor(from / width) !== Math.floor(to / width);
    const kinds = [from, to].map((s) => classAt(s, this.when[from]));
    const [a, b] = kinds.map((kind) => (kind <= HIGHEST_COST ? 2 ** (kind / COST_LEVELS) : 1));
    return {
      g: g + ((isDiagonal ? Math.SQRT2 : 1) * (a + b)) / 2,
      isNear: isNear || kinds.some((kind) => kind > 0 && kind <= HIGHEST_COST),
      isLeast: isLeast || kinds.some((kind) => kind > HIGHEST_COST),
    };
  }

  // What the search knows of a state: {g, branch, parent, tick}; of an open state, by the best of its neighbours.
  about(s, isOpen, isGreedy) {
    if (this.isExpanded(s)) {
      const branch = this.branch(s);
      if (!branch) return { tick: this.when[s] };
      const costs = this.known.get(s) || this.costs(branch, this.classes(branch));
      return { ...costs, branch, parent: branch[1], tick: this.when[s] };
    }
    return isOpen && !isGreedy ? this.aboutOpen(s) : {};
  }

  aboutOpen(s) {
    const { width, height, neighbours } = this.facts;
    const x = s % width, y = Math.floor(s / width);
    const steps = STEPS.slice(0, neighbours).filter(([dx, dy]) => x - dx >= 0 && y - dy >= 0 && x - dx < width && y - dy < height);
    const found = steps.map(([dx, dy]) => [(y - dy) * width + x - dx, dx, dy]).filter(([n]) => this.isExpanded(n));
    const branches = found.map(([n]) => this.branch(n));
    if (!found.length || branches.some((branch) => !branch)) return {};
    const around = found.flatMap(([n, dx, dy]) => [s, n, s - dx, s - dy * width]);
    const classAt = this.classes([...branches.flat(), ...around]);
    let best = {};
    found.forEach(([n, dx, dy], i) => {
      const isBlocked = (state) => classAt(state, this.when[n]) >= UNKNOWN_BLOCKED;
      if (isBlocked(s) || isBlocked(n)) return;
      if (dx && dy && !this.facts.corner_cutting && (isBlocked(s - dx) || isBlocked(s - dy * width))) return;
      const costs = this.step(this.costs(branches[i], classAt), n, s, classAt);
      if (best.g === undefined || costs.g < best.g - 1e-9) best = { ...costs, branch: [s, ...branches[i]], parent: n };
    });
    return best;
  }
}

// The pinned cell on the map and in the panel, and the cursor that the keys move over the map.
class Inspector {
  constructor(page) {
    this.page = page;
    this.tree = new Tree(page.record, page.frames);
    this.cell = undefined;
    this.cursor = undefined;
    $('unpin').addEventListener('click', () => this.pin(undefined));
    $('inspected').addEventListener('click', ({ target }) => {
      const { cell, tick } = target.closest('button')?.dataset || {};
      if (cell) this.pin(cell.split(',').map(Number));
      if (tick) {
        page.pause();
        page.goTo(Number(tick));
      }
    });
  }

  isOnMap([x, y]) {
    const { width, height } = this.page.replay;
    return x >= 0 && y >= 0 && x < width && y < height;
  }

  pin(cell) {
    this.cell = cell;
    this.shown = undefined;
    this.page.redraw();
  }

  // Pins the cell, or lets go of it if it is the pinned one.
  toggle(cell) {
    const isSame = this.cell && this.cell[0] === cell[0] && this.cell[1] === cell[1];
    this.pin(isSame || !this.isOnMap(cell) ? undefined : cell);
  }

  // What is known of the pinned cell at this tick.
  look() {
    const { replay, record } = this.page;
    const [x, y] = this.cell;
    const { tick } = replay;
    const s = y * replay.width + x;
    const search = Record.at(record.searches, tick)?.search;
    const state = replay.search[s];
    this.tree.read(tick);
    const about = this.tree.about(s, state === OPEN, search?.w_g === 0);
    const h = search && this.h(search, x, y);
    const weight = search?.w_g ? search.w_h / search.w_g : Infinity;
    const f = h === undefined ? undefined : weight === Infinity ? h : about.g === undefined ? undefined : about.g + weight * h;
    return { x, y, s, tick, kind: replay.cells[s], state, search, weight, h, f, ...about };
  }

  h({ goal }, x, y) {
    const dx = Math.abs(x - goal[0]), dy = Math.abs(y - goal[1]);
    if (this.page.replay.map.facts.neighbours === 4) return dx + dy;
    return Math.max(dx, dy) + (Math.SQRT2 - 1) * Math.min(dx, dy);
  }

  rows(found) {
    const { page: { replay, record } } = this;
    const { x, y, kind, state, search, weight, h, f, g, isNear, isLeast, parent, tick } = found;
    const { facts } = replay.map;
    const number = (value, sign) => (value === undefined ? '–' : `${sign}${value.toFixed(2)}`);
    const sign = isLeast ? '≥ ' : isNear ? '≈ ' : '';
    const hSign = search?.learns ? '≥ ' : '';
    const isExpanded = state === EXPANDED;
    const fName = weight === Infinity ? 'f = h' : weight === 1 ? 'f = g + h' : `f = g + ${round(weight)} h`;
    const fSign = weight === Infinity ? hSign : hSign || sign;
    const at = parent === undefined ? undefined : [parent % replay.width, Math.floor(parent / replay.width)];
    const rows = [
      ['Class', className(kind) || '–'],
      ['Search', ['not met', 'in the Open list', 'expanded'][state]],
      ['g', number(g, sign)],
      ['h', number(h, hSign)],
      [fName, number(f, fSign)],
      ['Parent', at ? at.join(', ') : isExpanded && g === 0 ? 'none: the root' : '–', at && { cell: at.join(',') }],
      // the first tick after a gap has all states of the search
      [record.gaps.some((gap) => gap.tick === tick) ? 'Expanded until' : 'Expanded at',
        isExpanded ? `tick ${count(tick)}` : '–', isExpanded && { tick }],
    ];
    if (facts.origin) rows.unshift(['Centre', toMetres(facts, x + 0.5, y + 0.5).map((value) => `${value.toFixed(2)} m`).join(', ')]);
    const lacks = isExpanded && g === undefined;
    $('inspect-note').textContent = lacks ? 'This record does not hold parents: it has neither g nor branch.' : '';
    return rows;
  }

  show() {
    const { replay } = this.page;
    const isShown = Boolean(this.cell && replay.map && this.isOnMap(this.cell));
    $('inspect').hidden = !isShown;
    if (!isShown) return;
    const key = `${replay.tick} ${this.cell}`;
    if (this.shown === key) return;
    this.shown = key;
    this.found = this.look();
    const rows = this.rows(this.found);
    $('inspect-title').textContent = `Cell ${this.cell.join(', ')}`;
    if ($('inspected').childElementCount !== rows.length || this.names !== rows.map((row) => row[0]).join()) {
      this.names = rows.map((row) => row[0]).join();
      $('inspected').replaceChildren(...rows.map(([name]) => {
        const row = document.createElement('div');
        row.append(element('dt', name), element('dd', ''));
        return row;
      }));
    }
    rows.forEach(([, text, leads], i) => this.fill($('inspected').children[i].lastChild, text, leads));
  }

  // A value, as a button if it leads somewhere; keeps the focus of a button that changes.
  fill(holder, text, leads) {
    if (!leads) {
      if (holder.firstElementChild || holder.textContent !== text) holder.textContent = text;
      return;
    }
    let button = holder.firstElementChild;
    if (!button) {
      button = element('button', '', 'plain');
      button.type = 'button';
      holder.replaceChildren(button);
    }
    if (button.textContent !== text) button.textContent = text;
    Object.assign(button.dataset, leads);
  }

  // ------------------------------------------------------------------------------------------------ on the map
  draw() {
    this.show();
    const { scene } = this.page;
    if (!$('inspect').hidden) {
      const { branch } = this.found;
      const { width } = this.page.replay;
      if (branch && branch.length > 1) {
        scene.outlined((context) => {
          for (const s of branch) context.lineTo((s % width) + 0.5, Math.floor(s / width) + 0.5);
        }, 'ink', 1.8);
      }
      this.frame(this.cell, 2);
    }
    if (this.cursor) this.frame(this.cursor, 3.5);
  }

  // A square around a cell, large enough to be seen.
  frame([x, y], pixels) {
    const half = Math.max(0.5, 7 / this.page.scene.scale);
    this.page.scene.outlined((context) => context.rect(x + 0.5 - half, y + 0.5 - half, 2 * half, 2 * half), 'ink', pixels);
  }

  // ------------------------------------------------------------------------------------------------ keys
  toggleCursor() {
    const { scene, replay } = this.page;
    if (this.cursor || !replay.width) this.cursor = undefined;
    else this.moveCursor(...(this.cell || [scene.x, scene.y]));
    note(this.cursor ? `${this.page.controls.describe(...this.cursor)}. Arrows move, Enter pins, Escape ends.` : '', Boolean(this.cursor));
    this.page.redraw();
  }

  moveCursor(x, y) {
    const { scene, replay } = this.page;
    this.cursor = [[x, replay.width], [y, replay.height]].map(([value, end]) => Math.min(Math.max(Math.floor(value), 0), end - 1));
    const [px, py] = scene.pointOf(...this.cursor);
    if (px < 20 || py < 20 || px > scene.canvas.clientWidth - 20 || py > scene.canvas.clientHeight - 20) scene.moveTo(...this.cursor);
  }

  // Handles a key while there is a cursor; returns whether it did.
  key({ key, shiftKey }) {
    if (!this.cursor) return false;
    const far = shiftKey ? 10 : 1, up = this.page.scene.isUp ? 1 : -1;
    const [x, y] = this.cursor;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, up], ArrowDown: [0, -up] };
    if (moves[key]) {
      this.moveCursor(x + far * moves[key][0], y + far * moves[key][1]);
      note(this.page.controls.describe(...this.cursor), true);
    } else if (key === 'Enter') {
      this.page.controls.click(...this.page.scene.pointOf(x + 0.5, y + 0.5));
      this.show();
      if (!this.page.measure.isOn) note(this.cell ? this.text() : 'unpinned', true);
    } else if (key === 'Escape') this.toggleCursor();
    else return false;
    this.page.redraw();
    return true;
  }

  text() {
    const rows = [...$('inspected').children].map((row) => `${row.firstChild.textContent} ${row.lastChild.textContent}`);
    return `${$('inspect-title').textContent}: ${rows.join(', ')}`;
  }
}
