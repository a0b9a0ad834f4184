// Shows why searches restarted: what changed on the map, where it blocked the route, and the route before.

const FLASH_S = 0.6; // time of the record, as is the next
const AFTERMATH_S = 3; // how long the blocked cells and the route before a restart are shown
const MAX_RUNS = 4000; // of flashing cells in a frame
const MAX_MARKS = 200; // of restarts on the map
const MAX_BACK = 200; // ticks before a restart in which to look for what blocked the route
const MARKS_MS = 4; // to find the places of restarts, in each frame
const LIFT_PX = 18; // a mark that would cover the robot is drawn above it
const STRIPE = 2; // width in cells of the stripes of new obstacles

class Why {
  constructor(scene) {
    this.scene = scene;
    this.record = scene.record;
    this.known = new Map(); // what led to a restart, by its tick
    this.marks = []; // of the last frame
    this.isComplete = true;
  }

  // Calls use(first state, end, class) for each run of cells that changed in this tick; stops when it returns false.
  changes(tick, use) {
    const { record } = this;
    const from = record.changesAt.values[tick], to = record.changesEnd.values[tick];
    if (from === to) return;
    const numbers = new Numbers(record.chunks[record.chunk.values[tick]].changes, from, to);
    const { width, height } = record.map(tick)?.facts || { width: 0, height: 0 };
    for (let s = 0; numbers.left; ) {
      s = Math.min(s + numbers.next(), width * height);
      const end = Math.min(s + numbers.next(), width * height);
      if (use(s, end, numbers.next()) === false) return;
      s = end;
    }
  }

  // The first map with the geometry of this tick's map: what is an obstacle only since then has appeared.
  firstMap(tick) {
    const { maps, mapIndex } = this.record;
    let i = mapIndex.values[tick];
    while (i > 0 && haveSamePlace(maps[i - 1].facts, maps[i].facts)) i--;
    return maps[i];
  }

  // ------------------------------------------------------------------------------------------------ restarts
  // The route before a restart, the cells of it that became blocked or rose in cost, and where that was.
  about({ tick, restarts: reasons }) {
    const known = this.known.get(tick);
    if (known) return known;
    const { record } = this;
    const route = tick > 0 ? record.routeAhead(tick - 1) : new Int32Array(0);
    const facts = record.map(Math.max(tick - 1, 0))?.facts;
    const spots = facts && facts === record.map(tick)?.facts ? this.spots(tick, route, facts, reasons) : [];
    const hasPose = record.flags.values[tick] & HAS_POSE;
    const at = spots.length ? [spots[0][0] + 0.5, spots[0][1] + 0.5] : hasPose && [record.x.values[tick], record.y.values[tick]];
    const found = { tick, reasons, route, facts, spots, at, lift: spots.length ? 0 : LIFT_PX };
    this.known.set(tick, found);
    return found;
  }

  // The cells that made the route invalid, in the order of the route. A diagonal step needs the cells beside it, too.
  spots(tick, route, facts, reasons) {
    const isBlocked = reasons.includes('blocked');
    if (!isBlocked && !reasons.includes('cost_increased')) return [];
    const places = new Map(); // by state: the number of the step
    for (let i = 0; i < route.length; i += 2) {
      const [x, y] = [route[i], route[i + 1]];
      const put = (s) => places.has(s) || places.set(s, i);
      put(y * facts.width + x);
      if (!i || facts.corner_cutting) continue;
      const [ux, uy] = [route[i - 2], route[i - 1]];
      if (ux === x || uy === y || !isBlocked) continue;
      put(uy * facts.width + x);
      put(y * facts.width + ux);
    }
    const spots = new Map();
    const seen = new Set();
    const oldest = Math.max(this.record.searchTick.values[tick - 1], tick - MAX_BACK, 0);
    for (let t = tick; t >= oldest && !spots.size; t--) {
      this.changes(t, (from, end, kind) => {
        for (let s = from; s < end; s++) {
          if (!places.has(s) || seen.has(s)) continue;
          seen.add(s);
          if (kind >= UNKNOWN_BLOCKED || !isBlocked) spots.set(s, places.get(s));
        }
      });
    }
    const { width } = facts;
    return [...spots].sort((a, b) => a[1] - b[1]).map(([s]) => [s % width, Math.floor(s / width)]);
  }

  // The last restart not long before this tick, of which there is something to show.
  recent(tick) {
    const { restarts, time } = this.record;
    for (let i = Record.indexAt(restarts, tick); i >= 0; i--) {
      if (time.values[tick] - time.values[restarts[i].tick] > AFTERMATH_S) return undefined;
      const about = this.about(restarts[i]);
      if (about.route.length >= 4) return about;
    }
    return undefined;
  }

  // ------------------------------------------------------------------------------------------------ drawing
  drawBelowRoute(tick) {
    const { scene } = this;
    if (!scene.hidden.has('changed')) this.drawFlashes(tick);
    const recent = scene.hidden.has('before') ? undefined : this.recent(tick);
    if (recent) this.drawBefore(recent, tick);
  }

  // New obstacles flash as whole cells, other changes as half ones, and both fade.
  drawFlashes(tick) {
    const { scene: { context, ink }, record } = this;
    const { facts } = record.map(tick);
    let left = MAX_RUNS;
    for (let t = tick; t >= 0 && left > 0 && record.map(t)?.facts === facts; t--) {
      const age = record.time.values[tick] - record.time.values[t];
      if (age >= FLASH_S) break;
      const first = this.firstMap(t).cells;
      context.globalAlpha = 1 - age / FLASH_S;
      this.changes(t, (s, end, kind) => {
        if (first[s] === UNKNOWN || first[s] === UNKNOWN_BLOCKED) return true; // it was discovered
        const y = Math.floor(s / facts.width), x = s - y * facts.width;
        const inset = kind >= INFLATED ? 0 : 0.3;
        context.fillStyle = kind >= INFLATED ? ink.blocked : ink.cleared;
        context.fillRect(x, y + inset, Math.min(end - s, facts.width - x), 1 - 2 * inset);
        return --left > 0;
      });
    }
    context.globalAlpha = 1;
  }

  // The route that the robot followed before the restart, dotted.
  drawBefore({ route, facts }, tick) {
    const { scene } = this;
    const here = this.record.map(tick).facts;
    const cells = facts === here ? route : scene.moved(route, facts, here);
    scene.strokeCells(cells, 0, cells.length / 2, 'before', [0.5, 1.6]);
    scene.context.setLineDash([]);
  }

  drawAboveRoute(tick) {
    const { scene } = this;
    if (scene.hidden.has('restarts')) {
      this.marks = [];
      return;
    }
    const recent = this.recent(tick);
    if (recent && recent.facts === this.record.map(tick).facts) this.drawSpots(recent.spots);
    this.drawMarks(tick);
  }

  // The cells that made the route invalid, and a ring around the first of them.
  drawSpots(spots) {
    const { scene: { context, ink }, scene } = this;
    if (!spots.length) return;
    const least = Math.max(1, 3 / scene.scale), more = (least - 1) / 2;
    context.fillStyle = ink.restart;
    for (const [x, y] of spots) context.fillRect(x - more, y - more, least, least);
    const [x, y] = spots[0];
    for (const [wide, colour] of [[5, ink.surface], [2.5, ink.restart]]) {
      context.beginPath();
      context.arc(x + 0.5, y + 0.5, scene.markSize(15), 0, 2 * Math.PI);
      context.lineWidth = scene.markSize(wide);
      context.strokeStyle = colour;
      context.stroke();
    }
  }

  // A triangle for each restart so far. It takes several frames to find the places of many.
  drawMarks(tick) {
    const { record, record: { restarts } } = this;
    const here = record.map(tick).facts;
    const until = performance.now() + MARKS_MS;
    const last = Record.indexAt(restarts, tick);
    this.marks = [];
    this.isComplete = true;
    for (let i = last; i >= 0 && i > last - MAX_MARKS; i--) {
      if (!this.known.has(restarts[i].tick) && performance.now() > until) {
        this.isComplete = false;
        break;
      }
      const { at, lift, reasons } = this.about(restarts[i]);
      if (!at) continue;
      let [x, y] = this.scene.movedTo(here, record.map(restarts[i].tick)?.facts, ...at);
      y += (this.scene.isUp ? lift : -lift) / this.scene.scale;
      this.marks.push({ tick: restarts[i].tick, reasons, x, y });
    }
    for (let i = this.marks.length - 1; i >= 0; i--) this.drawMark(this.marks[i], i === 0 ? 8 : 6);
  }

  drawMark({ x, y }, pixels) {
    const { scene: { context, ink }, scene } = this;
    const size = scene.markSize(pixels), up = scene.isUp ? 1 : -1;
    context.beginPath();
    context.moveTo(x, y + 1.1 * up * size);
    context.lineTo(x - size, y - 0.7 * up * size);
    context.lineTo(x + size, y - 0.7 * up * size);
    context.closePath();
    context.lineJoin = 'round';
    context.lineWidth = scene.markSize(3);
    context.strokeStyle = ink.surface;
    context.stroke();
    context.fillStyle = ink.restart;
    context.fill();
  }

  // The mark at this point of the canvas, if there is one; of several, the nearest.
  markAt(px, py) {
    let nearest, least = 12;
    for (const mark of this.marks) {
      const [x, y] = this.scene.pointOf(mark.x, mark.y);
      const far = Math.hypot(x - px, y - py);
      if (far < least) [nearest, least] = [mark, far];
    }
    return nearest;
  }

  markText({ tick, reasons }) {
    return `restart at ${this.record.time.values[tick].toFixed(2)} s: ${reasonText(reasons)}`;
  }

  // How many of the cells that changed in this tick are blocked now.
  blocked(tick) {
    let blocked = 0;
    this.changes(tick, (s, end, kind) => { if (kind >= UNKNOWN_BLOCKED) blocked += end - s; });
    return blocked;
  }
}

function haveSamePlace(a, b) {
  const key = ({ width, height, origin, resolution_m: size }) => JSON.stringify([width, height, origin, size]);
  return a === b || key(a) === key(b);
}
