// Computes what a record shows at any tick: the classes of the cells, expanded states and the Open list.
// The record does not contain the Open list: it is the cells next to expanded ones, by a move that was legal then.

const NOT_MET = 0, OPEN = 1, EXPANDED = 2;
const WORK_BETWEEN_FRAMES = 300_000; // bytes of a record, which take some tens of milliseconds
const MAX_FRAME_BYTES = 320 * 2 ** 20;

// Maps and searches at some ticks, from which a replay can start.
class KeyFrames {
  constructor() {
    this.maps = []; // {tick, cells}, in order; so are searches
    this.searches = [];
    this.bytes = 0;
  }

  keep(list, frame, bytes) {
    const i = Record.indexAt(list, frame.tick);
    if (i >= 0 && list[i].tick === frame.tick) return;
    list.splice(i + 1, 0, frame);
    this.bytes += bytes;
    while (this.bytes > MAX_FRAME_BYTES && this.thinOut(this.searches) + this.thinOut(this.maps) > 0);
  }

  thinOut(list) {
    if (list.length < 4) return 0;
    let freed = 0;
    for (let i = list.length - 2; i > 0; i -= 2) {
      freed += list[i].data.length;
      list.splice(i, 1);
    }
    this.bytes -= freed;
    return freed;
  }
}

class Replay {
  constructor(record, frames, keepsFrames = false) {
    this.record = record;
    this.frames = frames;
    this.keepsFrames = keepsFrames;
    this.tick = -1;
    this.mapTick = -1; // less while the map is being restored
    this.map = null;
    this.width = this.height = 0;
    this.cells = new Uint8Array(0);
    this.search = new Uint8Array(0);
    this.box = null; // of cells that the search has met
    this.dirty = null; // of cells that look other than when somebody asked last
    this.mapWork = this.searchWork = 0; // since the last key frame
  }

  // Goes to a tick, for at most sliceMs; returns whether it has arrived.
  seek(tick, sliceMs = Infinity) {
    if (tick < this.tick || this.record.work.values[tick] - this.workDone() > WORK_BETWEEN_FRAMES) this.jump(tick);
    const end = performance.now() + sliceMs;
    while (!this.isAt(tick)) {
      if (this.mapTick < this.tick) this.change(++this.mapTick);
      else this.step();
      if (performance.now() > end) break;
    }
    return this.isAt(tick);
  }

  isAt(tick) {
    return this.tick === tick && this.mapTick >= tick;
  }

  workDone() {
    return this.tick < 0 ? 0 : this.record.work.values[this.tick];
  }

  // Jumps to the nearest key frame before the tick, unless the present tick is nearer.
  jump(tick) {
    const { record, frames } = this;
    const search = Record.at(frames.searches, tick);
    const began = record.searchTick.values[tick];
    const from = Math.max(search ? search.tick : -1, began - 1);
    if (from <= this.tick && this.tick <= tick) return;
    this.restoreMap(from);
    if (search && search.tick === from && from >= began) this.restoreSearch(search);
    else this.clearSearch();
  }

  // Restores the map of a key frame before tick `from`; seek() applies the changes since.
  restoreMap(from) {
    const { record, frames } = this;
    const index = from < 0 ? -1 : record.mapIndex.values[from];
    this.tick = this.mapTick = from;
    if (index < 0) return; // there is no map yet
    const whole = record.maps[index];
    const kept = Record.at(frames.maps, from);
    this.begin(whole);
    if (kept && kept.tick >= whole.tick) {
      this.cells.set(kept.data);
      this.mapTick = kept.tick;
    } else {
      this.change(whole.tick);
      this.mapTick = whole.tick;
    }
  }

  restoreSearch(frame) {
    const { data, box } = frame;
    this.box = box && { ...box };
    const search = this.search;
    for (let i = 0, s = 0; i < data.length; i++, s += 4) {
      const four = data[i];
      search[s] = four & 3;
      search[s + 1] = (four >> 2) & 3;
      search[s + 2] = (four >> 4) & 3;
      search[s + 3] = four >> 6;
    }
  }

  begin(map) {
    this.map = map;
    const { width, height } = map.facts;
    if (width !== this.width || height !== this.height) {
      this.width = width;
      this.height = height;
      this.cells = new Uint8Array(width * height);
      this.search = new Uint8Array(4 * Math.ceil((width * height) / 4));
    }
    this.cells.set(map.cells);
    this.clearSearch();
    this.dirty = { x0: 0, y0: 0, x1: width, y1: height };
  }

  clearSearch() {
    this.touch(this.box);
    this.search.fill(NOT_MET);
    this.box = null;
  }

  touch(box) {
    if (box) this.dirty = around(this.dirty, box);
  }

  // To the next tick.
  step() {
    const { record } = this;
    const tick = this.tick + 1;
    const map = record.map(tick);
    this.mapTick = tick;
    if (!map) {
      this.tick = tick;
      return;
    }
    if (map.tick === tick) this.begin(map);
    this.change(tick);
    const flags = record.flags.values[tick];
    if (flags & NEW_SEARCH) {
      this.clearSearch();
      this.searchWork = 0;
      this.meetRoot(record.root.values[tick]);
    }
    this.expand(tick);
    this.tick = tick;
    if (!this.keepsFrames) return;
    this.keepFrames(record.changesEnd.values[tick] - record.changesAt.values[tick],
      record.expandedEnd.values[tick] - record.expandedAt.values[tick]);
  }

  keepFrames(changed, expanded) {
    this.mapWork += changed;
    this.searchWork += expanded;
    if (this.mapWork > WORK_BETWEEN_FRAMES) {
      this.mapWork = 0;
      this.frames.keep(this.frames.maps, { tick: this.tick, data: this.cells.slice() }, this.cells.length);
    }
    if (this.searchWork > WORK_BETWEEN_FRAMES) {
      this.searchWork = 0;
      const data = packed(this.search);
      this.frames.keep(this.frames.searches, { tick: this.tick, data, box: this.box && { ...this.box } }, data.length);
    }
  }

  change(tick) {
    const { record, cells, width } = this;
    const from = record.changesAt.values[tick], to = record.changesEnd.values[tick];
    if (from === to) return;
    const numbers = new Numbers(record.chunks[record.chunk.values[tick]].changes, from, to);
    const box = { x0: Infinity, y0: Infinity, x1: 0, y1: 0 };
    for (let s = 0; numbers.left; ) {
      s = this.within(s + numbers.next());
      const end = this.within(s + numbers.next());
      cells.fill(numbers.next(), s, end);
      include(box, s, end, width);
      s = end;
    }
    this.touch(box);
  }

  // Protects against records that name cells outside the map.
  within(state) {
    return Math.min(state, this.cells.length);
  }

  meetRoot(root) {
    if (root < 0 || root >= this.cells.length) return;
    this.search[root] = OPEN;
    const box = { x0: Infinity, y0: Infinity, x1: 0, y1: 0 };
    include(box, root, root + 1, this.width);
    this.box = around(this.box, box);
    this.touch(box);
  }

  expand(tick) {
    const { record, width, height } = this;
    const from = record.expandedAt.values[tick], to = record.expandedEnd.values[tick];
    if (from === to) return;
    const numbers = new Numbers(record.chunks[record.chunk.values[tick]].expanded, from, to);
    const box = { x0: Infinity, y0: Infinity, x1: 0, y1: 0 };
    for (let s = 0; numbers.left; ) {
      s = this.within(s + numbers.next());
      const end = this.within(s + numbers.next());
      include(box, s, end, width);
      for (; s < end; s++) this.close(s);
    }
    const grown = { x0: Math.max(box.x0 - 1, 0), y0: Math.max(box.y0 - 1, 0), x1: Math.min(box.x1 + 1, width), y1: Math.min(box.y1 + 1, height) };
    this.box = around(this.box, grown);
    this.touch(grown);
  }

  // Marks a state as expanded, and its neighbours as open unless they are expanded.
  close(s) {
    const { cells, search, width: w, height } = this;
    search[s] = EXPANDED;
    if (cells[s] >= UNKNOWN_BLOCKED) return; // it became blocked while it was in the Open list
    const y = Math.floor(s / w), x = s - y * w;
    const { neighbours, corner_cutting: cutting } = this.map.facts;
    const north = y > 0 && cells[s - w] < UNKNOWN_BLOCKED;
    const south = y < height - 1 && cells[s + w] < UNKNOWN_BLOCKED;
    const west = x > 0 && cells[s - 1] < UNKNOWN_BLOCKED;
    const east = x < w - 1 && cells[s + 1] < UNKNOWN_BLOCKED;
    if (north && search[s - w] === NOT_MET) search[s - w] = OPEN;
    if (south && search[s + w] === NOT_MET) search[s + w] = OPEN;
    if (west && search[s - 1] === NOT_MET) search[s - 1] = OPEN;
    if (east && search[s + 1] === NOT_MET) search[s + 1] = OPEN;
    if (neighbours === 4) return;
    if (y > 0) {
      if (x > 0 && (cutting || (north && west))) this.meet(s - w - 1);
      if (x < w - 1 && (cutting || (north && east))) this.meet(s - w + 1);
    }
    if (y < height - 1) {
      if (x > 0 && (cutting || (south && west))) this.meet(s + w - 1);
      if (x < w - 1 && (cutting || (south && east))) this.meet(s + w + 1);
    }
  }

  meet(s) {
    if (this.search[s] === NOT_MET && this.cells[s] < UNKNOWN_BLOCKED) this.search[s] = OPEN;
  }

  // The box of the cells to repaint, or null.
  takeDirty() {
    const dirty = this.dirty;
    this.dirty = null;
    return dirty;
  }
}

function around(a, b) {
  if (!a) return { ...b };
  return { x0: Math.min(a.x0, b.x0), y0: Math.min(a.y0, b.y0), x1: Math.max(a.x1, b.x1), y1: Math.max(a.y1, b.y1) };
}

// Extends the box by the states from s to end, which may span several rows.
function include(box, s, end, width) {
  const y0 = Math.floor(s / width), y1 = Math.floor((end - 1) / width);
  const whole = y1 > y0;
  box.x0 = Math.min(box.x0, whole ? 0 : s - y0 * width);
  box.x1 = Math.max(box.x1, whole ? width : end - y0 * width);
  box.y0 = Math.min(box.y0, y0);
  box.y1 = Math.max(box.y1, y1 + 1);
}

// Packs four states of the search into a byte.
function packed(search) {
  const data = new Uint8Array(search.length / 4);
  for (let i = 0, s = 0; i < data.length; i++, s += 4) {
    data[i] = search[s] | (search[s + 1] << 2) | (search[s + 2] << 4) | (search[s + 3] << 6);
  }
  return data;
}
