// Draws the map, the search, the route and the robot.

const LAYERS = [
  // key, name, whether it can be hidden, its sign in the legend
  ['robot', 'Robot', false, 'robot'],
  ['goal', 'Goal', false, 'goal'],
  ['route', 'Route', true, 'line ahead'],
  ['back', 'Backtracking', true, 'line back'],
  ['before', 'Route before', true, 'line before'],
  ['trail', 'Driven', true, 'line trail'],
  ['waypoint', 'Waypoint', true, 'waypoint'],
  ['open', 'Open list', true, 'cell open'],
  ['expanded', 'Expanded', true, 'cell expanded'],
  ['restarts', 'Restarts', true, 'restart'],
  ['changed', 'Map changes', true, 'cell blocked'],
  ['obstacle', 'Obstacle', false, 'cell obstacle'],
  ['appeared', 'New obstacle', true, 'stripes appeared'],
  ['inflated', 'Inflated', true, 'cell inflated'],
  ['higher-cost', 'Higher cost', true, 'cell higher-cost'],
  ['unknown', 'Unknown', true, 'cell unknown'],
];
const APPEARED = 255; // drawn as a class, which no record has: an obstacle that was not there at first
const LARGEST_CELL = 64; // in pixels of the page
const RULED_CELL = 14; // smallest cell with grid lines

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function rgb(name) {
  const hex = colour(name);
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function blend(a, b, share) {
  return a.map((value, i) => Math.round(value + (b[i] - value) * share));
}

function multiply(a, tint) {
  return a.map((value, i) => Math.round((value * tint[i]) / 255));
}

class Scene {
  constructor(canvas, record, replay) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', { alpha: false });
    this.record = record;
    this.replay = replay;
    this.why = new Why(this);
    this.hidden = new Set();
    this.image = document.createElement('canvas'); // a pixel a cell
    this.imageContext = this.image.getContext('2d');
    this.pixels = null;
    this.scale = 0; // pixels of the page a cell; 0: not placed yet
    this.x = this.y = 0; // the cell in the middle of the canvas
    this.isFitted = true;
    this.route = { tick: -2, cells: new Int32Array(0) };
    this.readColours();
  }

  // -------------------------------------------------------------------------------------------------- colours
  readColours() {
    const free = rgb('free'), expanded = rgb('expanded'), open = rgb('open');
    const isDark = free[0] < 128;
    const shown = (name, otherwise) => (this.hidden.has(name) ? otherwise : rgb(name));
    const classes = [];
    for (let level = 0; level <= HIGHEST_COST; level++) classes.push(blend(free, shown('higher-cost', free), Math.min(level / 50, 1)));
    classes[UNKNOWN] = shown('unknown', free);
    classes[UNKNOWN_BLOCKED] = this.hidden.has('unknown') ? shown('inflated', free) : rgb('unknown-blocked');
    classes[INFLATED] = shown('inflated', free);
    classes[OBSTACLE] = rgb('obstacle');
    classes[APPEARED] = shown('appeared', rgb('obstacle'));
    this.palette = new Uint32Array(3 * 256);
    classes.forEach((plain, i) => {
      const tinted = i >= UNKNOWN_BLOCKED ? blend(plain, expanded, 0.35) : isDark ? blend(expanded, plain, 0.25) : multiply(plain, expanded);
      this.palette[i] = pixel(plain);
      this.palette[256 + i] = pixel(this.hidden.has('open') ? plain : open);
      this.palette[512 + i] = pixel(this.hidden.has('expanded') ? plain : tinted);
    });
    this.ink = Object.fromEntries(
      ['page', 'surface', 'line', 'ahead', 'back', 'trail', 'robot', 'robot-rim', 'goal', 'goal-rim', 'waypoint', 'restart', 'ink', 'before', 'blocked', 'cleared'].map((name) => [name, colour(name)]),
    );
    this.isStale = true;
  }

  hide(name, isHidden) {
    if (isHidden) this.hidden.add(name);
    else this.hidden.delete(name);
    this.readColours();
  }

  // -------------------------------------------------------------------------------------------------- cells
  paintCells() {
    const { replay, image } = this;
    const { width, height, cells, search } = replay;
    if (!width) return;
    if (image.width !== width || image.height !== height || !this.pixels) {
      image.width = width;
      image.height = height;
      this.pixels = this.imageContext.createImageData(width, height);
      this.words = new Uint32Array(this.pixels.data.buffer);
      this.isStale = true;
    }
    let box = replay.takeDirty();
    if (this.isStale) box = { x0: 0, y0: 0, x1: width, y1: height };
    this.isStale = false;
    if (!box) return;
    const { palette, words } = this;
    const first = this.why.firstMap(replay.tick).cells;
    for (let y = box.y0; y < box.y1; y++) {
      for (let s = y * width + box.x0, end = y * width + box.x1; s < end; s++) {
        const kind = cells[s] === OBSTACLE && hasAppeared(first[s]) && (s - y * width + y) % (2 * STRIPE) < STRIPE ? APPEARED : cells[s];
        words[s] = palette[(search[s] << 8) | kind];
      }
    }
    this.imageContext.putImageData(this.pixels, 0, 0, box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0);
  }

  // -------------------------------------------------------------------------------------------------- place
  get isUp() {
    return this.record.head.y_up !== false;
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(Math.round(clientWidth * ratio), 1);
    this.canvas.height = Math.max(Math.round(clientHeight * ratio), 1);
    if (this.isFitted) this.fit();
  }

  fit() {
    const { width, height } = this.replay;
    if (!width) return;
    this.isFitted = true;
    this.scale = this.fittingScale();
    this.x = width / 2;
    this.y = height / 2;
  }

  // Places the map: the cell in the middle, and the zoom, of which 1 shows the whole map.
  place(x, y, zoom) {
    this.wanted = undefined;
    if (!this.replay.width) {
      this.wanted = [x, y, zoom]; // when there is a map
      return;
    }
    this.scale = this.bounded(zoom * this.fittingScale());
    this.moveTo(x, y);
  }

  bounded(scale) {
    return Math.min(Math.max(scale, this.fittingScale() / 4), LARGEST_CELL);
  }

  fittingScale() {
    const { clientWidth, clientHeight } = this.canvas;
    const { width, height } = this.replay;
    return Math.min((clientWidth - 24) / width, (clientHeight - 24) / height, LARGEST_CELL);
  }

  zoom(factor, atX = this.canvas.clientWidth / 2, atY = this.canvas.clientHeight / 2) {
    if (!this.scale) return;
    const [x, y] = this.cellAt(atX, atY);
    this.scale = this.bounded(this.scale * factor);
    const [nowX, nowY] = this.cellAt(atX, atY);
    this.moveTo(this.x + x - nowX, this.y + y - nowY);
  }

  drag(dx, dy) {
    this.moveTo(this.x - dx / this.scale, this.y + (this.isUp ? dy : -dy) / this.scale);
  }

  // Keeps the centre of the canvas on the map.
  moveTo(x, y) {
    this.isFitted = false;
    this.x = Math.min(Math.max(x, 0), this.replay.width);
    this.y = Math.min(Math.max(y, 0), this.replay.height);
  }

  // Converts a point of the canvas, in CSS pixels, to cells; pointOf() converts back.
  cellAt(px, py) {
    const { clientWidth, clientHeight } = this.canvas;
    const down = (py - clientHeight / 2) / this.scale;
    return [this.x + (px - clientWidth / 2) / this.scale, this.y + (this.isUp ? -down : down)];
  }

  pointOf(x, y) {
    const { clientWidth, clientHeight } = this.canvas;
    const down = (y - this.y) * this.scale;
    return [clientWidth / 2 + (x - this.x) * this.scale, clientHeight / 2 + (this.isUp ? -down : down)];
  }

  // -------------------------------------------------------------------------------------------------- drawing
  draw() {
    const { context, canvas, replay, record } = this;
    const ratio = canvas.width / Math.max(canvas.clientWidth, 1);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.ink.page;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const tick = replay.tick;
    if (tick < 0 || !record.map(tick)) return;
    this.paintCells();
    if (this.wanted) this.place(...this.wanted);
    if (!this.scale) this.fit();
    const unit = ratio * this.scale;
    const sign = this.isUp ? -1 : 1;
    const left = Math.round(canvas.width / 2 - this.x * unit), top = Math.round(canvas.height / 2 - sign * this.y * unit);
    context.setTransform(unit, 0, 0, sign * unit, left, top);
    context.imageSmoothingEnabled = unit < 1;
    context.imageSmoothingQuality = 'medium';
    context.drawImage(this.image, 0, 0);
    this.ruleCells(unit);
    this.why.drawBelowRoute(tick);
    this.drawTrail(tick);
    this.drawRoute(tick);
    this.why.drawAboveRoute(tick);
    this.drawMarks(tick);
  }

  ruleCells(unit) {
    if (this.scale < RULED_CELL) return;
    const { context, replay, canvas } = this;
    const [ax, ay] = this.cellAt(0, 0), [bx, by] = this.cellAt(canvas.clientWidth, canvas.clientHeight);
    const x0 = Math.max(Math.floor(ax), 0), x1 = Math.min(Math.ceil(bx), replay.width);
    const y0 = Math.max(Math.floor(Math.min(ay, by)), 0), y1 = Math.min(Math.ceil(Math.max(ay, by)), replay.height);
    context.beginPath();
    for (let x = x0; x <= x1; x++) line(context, x, y0, x, y1);
    for (let y = y0; y <= y1; y++) line(context, x0, y, x1, y);
    context.lineWidth = 1 / unit;
    context.strokeStyle = this.ink.line;
    context.globalAlpha = 0.6;
    context.stroke();
    context.globalAlpha = 1;
  }

  // Lines keep their width at any zoom, except on large cells, where they grow.
  lineWidth(pixels) {
    return Math.max(pixels / this.scale, pixels / 16);
  }

  drawTrail(tick) {
    if (this.hidden.has('trail')) return;
    const { record, context } = this;
    const here = record.map(tick).facts;
    const step = Math.max(1, Math.floor(tick / 8000));
    context.beginPath();
    let isDown = false;
    const put = (t) => {
      if (!(record.flags.values[t] & HAS_POSE)) {
        isDown = false;
        return;
      }
      const [x, y] = this.placeOn(here, t);
      if (isDown) context.lineTo(x, y);
      else context.moveTo(x, y);
      isDown = true;
    };
    for (let t = 0; t < tick; t += step) put(t);
    put(tick);
    context.lineWidth = this.lineWidth(2);
    context.lineJoin = 'round';
    context.strokeStyle = this.ink.trail;
    context.globalAlpha = 0.75;
    context.stroke();
    context.globalAlpha = 1;
  }

  // The position of the robot at a tick, in cells of this map, which may have moved since.
  placeOn(here, tick) {
    const { record } = this;
    return this.movedTo(here, record.map(tick)?.facts, record.x.values[tick], record.y.values[tick]);
  }

  // A place in cells of another map, in cells of this one.
  movedTo(here, there, x, y) {
    if (!there || there === here || !here.origin) return [x, y];
    return toCells(here, ...toMetres(there, x, y));
  }

  // The cells of a route on another map, as near as this map has them.
  moved(route, there, here) {
    const cells = new Int32Array(route.length);
    for (let i = 0; i < route.length; i += 2) {
      const [x, y] = this.movedTo(here, there, route[i] + 0.5, route[i + 1] + 0.5);
      [cells[i], cells[i + 1]] = [Math.floor(x), Math.floor(y)];
    }
    return cells;
  }

  drawRoute(tick) {
    const { record, context } = this;
    const from = record.routeTick.values[tick];
    if (this.route.tick !== from) this.route = { tick: from, cells: record.route(tick) };
    const { cells } = this.route;
    const count = cells.length / 2;
    const first = Math.max(count - record.left.values[tick] - 1, 0);
    if (count - first < 2) return;
    const turn = Math.min(first + record.back.values[tick], count - 1);
    if (turn < count - 1 && !this.hidden.has('route')) this.strokeCells(cells, turn, count, 'ahead', []);
    if (turn > first && !this.hidden.has('back')) this.strokeCells(cells, first, turn + 1, 'back', [3, 2]);
    context.setLineDash([]);
  }

  strokeCells(cells, from, to, name, dashes) {
    const { context } = this;
    const width = this.lineWidth(3);
    context.beginPath();
    context.moveTo(cells[2 * from] + 0.5, cells[2 * from + 1] + 0.5);
    for (let i = from + 1; i < to; i++) context.lineTo(cells[2 * i] + 0.5, cells[2 * i + 1] + 0.5);
    context.lineJoin = 'round';
    context.lineCap = dashes.length ? 'butt' : 'round';
    context.lineWidth = width;
    context.strokeStyle = this.ink[name];
    context.setLineDash(dashes.map((dash) => dash * width));
    context.stroke();
  }

  drawMarks(tick) {
    const { record } = this;
    const goal = Record.at(record.goals, tick)?.goal;
    if (goal) this.drawGoal(...goal);
    const flags = record.flags.values[tick];
    if (flags & HAS_WAYPOINT && !this.hidden.has('waypoint')) {
      this.disc(record.waypointX.values[tick], record.waypointY.values[tick], 4, this.ink.waypoint, this.ink['goal-rim']);
    }
    if (flags & HAS_POSE) this.drawRobot(record.x.values[tick], record.y.values[tick], record.yaw.values[tick]);
  }

  markSize(pixels) {
    return Math.max(pixels / this.scale, pixels / 24);
  }

  disc(x, y, pixels, fill, rim) {
    const { context } = this;
    context.beginPath();
    context.arc(x, y, this.markSize(pixels), 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
    context.lineWidth = this.markSize(1.5);
    context.strokeStyle = rim;
    context.stroke();
  }

  // A line with a rim, so that it shows on any ground.
  outlined(path, name, pixels) {
    const { context } = this;
    context.lineJoin = context.lineCap = 'round';
    for (const [wide, ink] of [[pixels + 2.5, this.ink.surface], [pixels, this.ink[name]]]) {
      context.beginPath();
      path(context);
      context.lineWidth = wide / this.scale;
      context.strokeStyle = ink;
      context.stroke();
    }
  }

  // Text on its own ground, at a place in cells.
  label(text, x, y) {
    const { context, canvas } = this;
    const ratio = canvas.width / Math.max(canvas.clientWidth, 1);
    const [px, py] = this.pointOf(x, y);
    context.save();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = '600 13px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const wide = context.measureText(text).width + 12;
    context.fillStyle = this.ink.ink;
    context.fillRect(px - wide / 2, py - 11, wide, 22);
    context.fillStyle = this.ink.surface;
    context.fillText(text, px, py);
    context.restore();
  }

  drawGoal(x, y) {
    this.disc(x, y, 9, this.ink.goal, this.ink['goal-rim']);
    this.disc(x, y, 3, this.ink['goal-rim'], this.ink['goal-rim']);
  }

  // An arrow, and the robot's circle where the record has its radius.
  drawRobot(x, y, yaw) {
    const { context, record } = this;
    const radius = (record.head.robot_radius_m || 0) / (record.map(this.replay.tick).facts.resolution_m || Infinity);
    const size = Math.max(this.markSize(9), 0.6 * radius);
    if (radius > 0) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.globalAlpha = 0.25;
      context.fillStyle = this.ink.robot;
      context.fill();
      context.globalAlpha = 1;
      context.lineWidth = 1.5 / this.scale;
      context.strokeStyle = this.ink.robot;
      context.stroke();
    }
    context.beginPath();
    for (const [angle, far] of [[0, 1.35], [2.5, 1.1], [Math.PI, 0.45], [-2.5, 1.1]]) {
      context.lineTo(x + far * size * Math.cos(yaw + angle), y + far * size * Math.sin(yaw + angle));
    }
    context.closePath();
    context.lineJoin = 'round';
    context.lineWidth = this.markSize(4);
    context.strokeStyle = this.ink['robot-rim'];
    context.stroke();
    context.fillStyle = this.ink.robot;
    context.fill();
  }
}

// Whether an obstacle that was of this class at first has appeared since; what was unknown was only discovered.
function hasAppeared(first) {
  return first !== OBSTACLE && first !== UNKNOWN && first !== UNKNOWN_BLOCKED;
}

function pixel([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0; // as little-endian machines keep it
}

function line(context, x0, y0, x1, y1) {
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
}

function toMetres({ origin, resolution_m: size }, x, y) {
  const [x0, y0, yaw] = origin;
  const cos = Math.cos(yaw), sin = Math.sin(yaw);
  return [x0 + (cos * x - sin * y) * size, y0 + (sin * x + cos * y) * size];
}

function toCells({ origin, resolution_m: size }, x, y) {
  const [x0, y0, yaw] = origin;
  const cos = Math.cos(yaw), sin = Math.sin(yaw);
  return [(cos * (x - x0) + sin * (y - y0)) / size, (cos * (y - y0) - sin * (x - x0)) / size];
}
