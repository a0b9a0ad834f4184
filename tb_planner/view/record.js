// Reads a record chunk by chunk; tb_planner/recording/format.py describes the format.
// A live stream sends the same chunks, one in each message.

const MAGIC = [0x54, 0x42, 0x52, 0x55, 0x4e, 0x0d, 0x0a, 0x01];
const NEW_SEARCH = 1, NEW_ROUTE = 2, HAS_POSE = 4, HAS_WAYPOINT = 8;
const COST_LEVELS = 32; // classes between a cost and twice that cost
const HIGHEST_COST = 250, UNKNOWN = 251, UNKNOWN_BLOCKED = 252, INFLATED = 253, OBSTACLE = 254;
const BATCH = 16; // chunks decompressed in parallel
const SHARES = { expanded: 'expanded_bytes', parents: 'parent_bytes', changes: 'change_bytes', route: 'route_bytes' };
const EACH_TICK = [
  'time_us', 'duration_us', 'flags', 'left', 'back', 'expansions', 'open_size',
  'x', 'y', 'yaw', 'waypoint_x', 'waypoint_y', ...Object.values(SHARES),
];

function fromBase64(text) {
  const plain = text.replace(/\s+/g, '');
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(plain);
  const binary = atob(plain);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Decodes the record from the elements of the page, and removes them to save memory.
function fromPieces(holder) {
  const pieces = [];
  while (holder.firstElementChild) {
    pieces.push(fromBase64(holder.firstElementChild.textContent));
    holder.firstElementChild.remove();
  }
  if (!pieces.length) throw new Error('This page contains no record.');
  if (pieces.length === 1) return pieces[0];
  const file = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  for (let at = 0; pieces.length; ) {
    const piece = pieces.shift();
    file.set(piece, at);
    at += piece.length;
  }
  return file;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The bodies of the chunks of a file, without an incomplete last one.
function bodies(file) {
  if (MAGIC.some((byte, i) => file[i] !== byte)) throw new Error('This is not a record of a run, or it has another version.');
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const found = [];
  for (let at = MAGIC.length; at + 4 <= file.length; ) {
    const length = view.getUint32(at, true);
    at += 4;
    if (at + length > file.length) break;
    found.push(file.subarray(at, at + length));
    at += length;
  }
  return found;
}

// Reads numbers from bytes, one after the other.
class Numbers {
  constructor(bytes, start, end) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  get left() {
    return this.at < this.end;
  }

  next() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    for (let factor = 128; byte >= 128; factor *= 128) {
      byte = this.bytes[this.at++];
      value += (byte & 127) * factor;
    }
    return value;
  }
}

function varints(bytes) {
  const numbers = new Numbers(bytes, 0, bytes.length);
  const values = [];
  while (numbers.left) values.push(numbers.next());
  return values;
}

// A typed array that grows.
class Series {
  constructor(Type) {
    this.values = new Type(1024);
    this.length = 0;
  }

  push(value) {
    if (this.length === this.values.length) {
      const more = new this.values.constructor(2 * this.length);
      more.set(this.values);
      this.values = more;
    }
    this.values[this.length++] = value;
  }

  get last() {
    return this.length ? this.values[this.length - 1] : 0;
  }
}

const PER_TICK = {
  time: Float64Array, // s since the first tick
  duration: Float32Array, // ms
  flags: Uint8Array,
  left: Uint32Array,
  back: Uint32Array,
  expansions: Uint32Array,
  openSize: Uint32Array,
  x: Float32Array,
  y: Float32Array,
  yaw: Float32Array,
  waypointX: Float32Array,
  waypointY: Float32Array,
  root: Int32Array, // -1: none
  chunk: Uint32Array,
  expandedAt: Uint32Array,
  expandedEnd: Uint32Array,
  parentsAt: Uint32Array,
  parentsEnd: Uint32Array,
  changesAt: Uint32Array,
  changesEnd: Uint32Array,
  routeAt: Uint32Array,
  routeEnd: Uint32Array,
  routeTick: Int32Array, // the last tick with a new route
  searchTick: Int32Array, // the last tick in which a search began
  mapIndex: Int32Array, // of the map of this tick
  work: Float64Array, // bytes to process from the beginning to this tick
};

// A record may come from anywhere: this checks what the rest of the page relies on.
function check(head, columns) {
  columns.parents ??= new Uint8Array(0); // older records lack both
  columns.parent_bytes ??= new Array(Math.min(head.count, columns.flags?.length || 0)).fill(0);
  for (const name of EACH_TICK) {
    if (columns[name]?.length !== head.count) throw new Error(`The record is inconsistent: ${name} must have one value for each tick.`);
  }
  for (const [name, sizes] of Object.entries(SHARES)) {
    const size = columns[sizes].reduce((sum, bytes) => sum + bytes, 0);
    if (columns[name]?.length !== size) throw new Error(`The record is inconsistent: the length of ${name} is wrong.`);
  }
}

class Record {
  constructor() {
    this.head = {};
    this.ticks = 0;
    for (const [name, Type] of Object.entries(PER_TICK)) this[name] = new Series(Type);
    this.chunks = []; // {expanded, parents, changes, route}
    this.maps = []; // {tick, facts, cells}
    this.statuses = []; // {tick, status}, as are the others
    this.goals = [];
    this.algorithms = []; // those after the one in the head
    this.restarts = [];
    this.searches = [];
    this.gaps = [];
  }

  async appendAll(all, onProgress) {
    for (let i = 0; i < all.length; i += BATCH) {
      const plain = await Promise.all(all.slice(i, i + BATCH).map(inflate).map((p) => p.catch((error) => error)));
      for (let j = 0; j < plain.length; j++) {
        if (!(plain[j] instanceof Error)) this.appendPlain(plain[j]);
        else if (i + j < all.length - 1) throw new Error(`A part of the record cannot be read (${plain[j].message}).`);
      }
      onProgress(Math.min(i + BATCH, all.length) / all.length);
    }
  }

  async append(some) {
    for (const plain of await Promise.all(some.map(inflate))) this.appendPlain(plain);
  }

  appendPlain(bytes) {
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    const columns = {};
    let at = 4 + length;
    for (const [name, kind, size] of head.columns) {
      const data = bytes.slice(at, at + size);
      columns[name] = kind === 'varint' ? varints(data) : kind === 'f4' ? new Float32Array(data.buffer) : data;
      at += size;
    }
    if (head.kind === 'head') this.head = head;
    else if (head.kind === 'ticks') this.appendTicks(head, columns);
  }

  appendTicks(head, columns) {
    check(head, columns);
    this.appendEvents(head, columns.map);
    this.chunks.push({ expanded: columns.expanded, parents: columns.parents, changes: columns.changes, route: columns.route });
    const at = { expanded: 0, parents: 0, changes: 0, route: 0, roots: 0 };
    for (let i = 0; i < head.count; i++) {
      const tick = this.ticks;
      const flags = columns.flags[i];
      this.time.push(this.time.last + columns.time_us[i] / 1e6);
      this.duration.push(columns.duration_us[i] / 1e3);
      this.flags.push(flags);
      this.left.push(columns.left[i]);
      this.back.push(columns.back[i]);
      this.expansions.push(columns.expansions[i]);
      this.openSize.push(columns.open_size[i]);
      this.x.push(columns.x[i]);
      this.y.push(columns.y[i]);
      this.yaw.push(columns.yaw[i]);
      this.waypointX.push(columns.waypoint_x[i]);
      this.waypointY.push(columns.waypoint_y[i]);
      this.root.push(flags & NEW_SEARCH ? columns.roots[at.roots++] - 1 : -1);
      this.chunk.push(this.chunks.length - 1);
      this.share('expanded', columns.expanded_bytes[i], at);
      this.share('parents', columns.parent_bytes[i], at);
      this.share('changes', columns.change_bytes[i], at);
      this.share('route', columns.route_bytes[i], at);
      this.routeTick.push(flags & NEW_ROUTE ? tick : tick ? this.routeTick.last : -1);
      const mapIndex = this.maps.findLastIndex((map) => map.tick <= tick);
      const isNewMap = this.maps[mapIndex]?.tick === tick;
      this.searchTick.push(flags & NEW_SEARCH || isNewMap || !tick ? tick : this.searchTick.last);
      this.mapIndex.push(mapIndex);
      this.work.push(this.work.last + columns.expanded_bytes[i] + columns.change_bytes[i] + 8);
      this.ticks++;
    }
  }

  share(name, size, at) {
    this[`${name}At`].push(at[name]);
    at[name] += size;
    this[`${name}End`].push(at[name]);
  }

  appendEvents(head, cells) {
    let at = 0;
    for (const event of head.events) {
      if (event.map) {
        const { width, height } = event.map;
        const size = width * height;
        if (!(width > 0 && height > 0 && at + size <= cells.length)) throw new Error(`A map of ${width} × ${height} cells is incomplete.`);
        this.maps.push({ tick: event.tick, facts: event.map, cells: cells.subarray(at, at + size) });
        at += size;
      }
      if ('status' in event) this.statuses.push(event);
      if ('goal' in event) this.goals.push(event);
      if (event.algorithm) this.algorithms.push(event);
      if (event.search) this.searches.push(event);
      if (event.restarts) this.restarts.push(event);
      if (event.lost) this.gaps.push(event);
    }
  }

  // The last of these events at or before the tick.
  static at(events, tick) {
    const i = Record.indexAt(events, tick);
    return i < 0 ? undefined : events[i];
  }

  static indexAt(events, tick) {
    let low = 0, high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (events[middle].tick <= tick) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // The last tick at or before this time.
  tickAt(time) {
    let low = 0, high = this.ticks;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time.values[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return Math.max(low - 1, 0);
  }

  map(tick) {
    return this.maps[this.mapIndex.values[tick]];
  }

  // The cells of the route at this tick, x and y in turn.
  route(tick) {
    const from = this.routeTick.values[tick];
    if (from < 0) return new Int32Array(0);
    const numbers = new Numbers(this.chunks[this.chunk.values[from]].route, this.routeAt.values[from], this.routeEnd.values[from]);
    if (!numbers.left) return new Int32Array(0);
    const width = this.map(from).facts.width;
    const state = numbers.next();
    const cells = new Int32Array(2 * (1 + numbers.end - numbers.at));
    let y = Math.floor(state / width), x = state - y * width;
    cells[0] = x;
    cells[1] = y;
    for (let n = 2; numbers.left; n += 2) {
      const step = numbers.bytes[numbers.at++];
      x += (step % 3) - 1;
      y += Math.floor(step / 3) - 1;
      cells[n] = x;
      cells[n + 1] = y;
    }
    return cells;
  }
  // What is left of the route at this tick.
  routeAhead(tick) {
    const cells = this.route(tick);
    return cells.subarray(2 * Math.max(cells.length / 2 - this.left.values[tick] - 1, 0));
  }
}
