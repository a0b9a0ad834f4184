// Lengths of a run in metres, or in cells where a record has no resolution; and the tool that measures on the map.

const SPEED_S = 0.5; // over which speed is taken
const BAR_PX = 120; // the longest scale bar

class Lengths {
  constructor(record) {
    this.record = record;
    this.sums = [0]; // driven until each tick
    this.route = { from: -2 };
  }

  // Length of a cell at this tick; 1 where it is not known.
  cell(tick) {
    return this.record.map(tick)?.facts.resolution_m || 1;
  }

  text(length, tick, isLeast = false) {
    if (length === undefined) return '–';
    const unit = this.record.map(tick)?.facts.resolution_m ? 'm' : Math.abs(length - 1) < 0.005 ? 'cell' : 'cells';
    return `${isLeast ? '≥ ' : ''}${length.toFixed(length < 100 ? 2 : 1)} ${unit}`;
  }

  // How far the robot has driven until this tick.
  driven(tick) {
    const { record, sums } = this;
    for (let t = sums.length; t <= tick; t++) {
      const has = record.flags.values[t] & record.flags.values[t - 1] & HAS_POSE && record.map(t) && record.map(t - 1);
      sums.push(sums[t - 1] + (has ? this.between(t - 1, t) : 0));
    }
    return sums[tick];
  }

  between(a, b) {
    const { record: { x, y }, record } = this;
    const here = record.map(b).facts, there = record.map(a).facts;
    let [fromX, fromY] = [x.values[a], y.values[a]];
    if (there !== here && here.origin && there.origin) [fromX, fromY] = toCells(here, ...toMetres(there, fromX, fromY));
    return Math.hypot(x.values[b] - fromX, y.values[b] - fromY) * this.cell(b);
  }

  // Speed of the robot, in lengths a second; undefined where no time has passed.
  speed(tick) {
    const { time } = this.record;
    const from = this.record.tickAt(time.values[tick] - SPEED_S);
    const seconds = time.values[tick] - time.values[from];
    return seconds > 0 ? (this.driven(tick) - this.driven(from)) / seconds : undefined;
  }

  // The lengths of the route from its beginning to each of its cells.
  routeSums(tick) {
    const from = this.record.routeTick.values[tick];
    if (this.route.from === from) return this.route;
    const cells = this.record.route(tick);
    const sums = new Float64Array(cells.length / 2);
    for (let i = 1; i < sums.length; i++) {
      const dx = cells[2 * i] - cells[2 * i - 2], dy = cells[2 * i + 1] - cells[2 * i - 1];
      sums[i] = sums[i - 1] + Math.sqrt(dx * dx + dy * dy); // Math.hypot takes ten times as long
    }
    this.route = { from, cells, sums };
    return this.route;
  }

  // What is left of the route, or only of its first moves; undefined without a route.
  ahead(tick, moves = Infinity) {
    const { sums } = this.routeSums(tick);
    const first = Math.max(sums.length - 1 - this.record.left.values[tick], 0);
    const last = Math.min(first + moves, sums.length - 1);
    return last > first ? (sums[last] - sums[first]) * this.cell(tick) : undefined;
  }

  // The way to the goal: the route and, where that does not reach the goal yet, at least the straight line from its end.
  toGo(tick) {
    const { record } = this;
    const goal = Record.at(record.goals, tick)?.goal;
    if (!goal || !record.map(tick)) return {};
    const ahead = this.ahead(tick);
    const { cells } = this.route;
    const robot = record.flags.values[tick] & HAS_POSE ? [record.x.values[tick], record.y.values[tick]] : undefined;
    const end = ahead === undefined ? robot : [cells[cells.length - 2] + 0.5, cells[cells.length - 1] + 0.5];
    if (!end) return {};
    const rest = Math.hypot(goal[0] - end[0], goal[1] - end[1]);
    const reaches = ahead !== undefined && rest < 1;
    return { length: (ahead || 0) + (reaches ? 0 : rest * this.cell(tick)), isLeast: !reaches };
  }
}

// The scale bar, and the distance between two clicks.
class Measure {
  constructor(page) {
    this.page = page;
    this.lengths = page.lengths;
    this.isOn = false;
    this.points = [];
    $('measure').addEventListener('click', () => this.set(!this.isOn));
  }

  set(isOn) {
    this.isOn = isOn;
    this.points = [];
    $('measure').setAttribute('aria-pressed', String(isOn));
    $('map').classList.toggle('measuring', isOn);
    note(isOn ? 'Click two points on the map' : '', true);
    this.page.redraw();
  }

  // Takes a point in cells: the first, the second, or the first anew.
  click(x, y) {
    if (this.points.length === 2) this.points = [];
    this.points.push([x, y]);
    this.end = undefined;
    if (this.points.length === 2) note(`Distance: ${this.text(...this.points)}`, true);
    this.page.redraw();
  }

  point(x, y) {
    if (!this.isOn || this.points.length !== 1) return;
    this.end = [x, y];
    this.page.redraw();
  }

  text([ax, ay], [bx, by]) {
    const { tick } = this.page.replay;
    return this.lengths.text(Math.hypot(bx - ax, by - ay) * this.lengths.cell(tick), tick);
  }

  draw() {
    this.showScale();
    if (!this.isOn || !this.points.length) return;
    const { scene } = this.page;
    const [a, b = this.end] = this.points;
    if (b) scene.outlined((context) => line(context, ...a, ...b), 'ink', 2.5);
    for (const [x, y] of [a, ...(b ? [b] : [])]) scene.disc(x, y, 3.5, scene.ink.ink, scene.ink.surface);
    if (b) scene.label(this.text(a, b), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
  }

  // The longest of 1, 2, 5, 10, … that fits.
  showScale() {
    const { scene, replay: { tick } } = this.page;
    const most = (BAR_PX / scene.scale) * this.lengths.cell(tick);
    const power = 10 ** Math.floor(Math.log10(most));
    const length = power * [5, 2, 1].find((n) => n * power <= most);
    const unit = this.page.record.map(tick)?.facts.resolution_m ? 'm' : 'cells';
    const text = `${Number(length.toPrecision(1))} ${unit}`;
    const width = `${((length / this.lengths.cell(tick)) * scene.scale).toFixed(1)}px`;
    if ($('scale').textContent !== text) $('scale').textContent = text;
    if ($('scale').style.width !== width) $('scale').style.width = width;
  }
}
