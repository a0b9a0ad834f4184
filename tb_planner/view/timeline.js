// The chart below the map: the time of each tick, the budget, and the restarts. strips.js has what is below it.

const MARKS = 16; // pixels above the bars, for restarts
const BELOW = 5;
const SAMPLES = 1000; // ticks for the estimate of the median
const SORTED_AT_ONCE = 200_000; // ticks, which are sorted in some 10 ms

// Gives a canvas the resolution of the screen; returns its context, which draws in pixels of the page.
function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(Math.round(canvas.clientWidth * ratio), 1), height = Math.max(Math.round(canvas.clientHeight * ratio), 1);
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

class Timeline {
  constructor(canvas, record) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.record = record;
    this.tick = 0;
    this.runs = []; // the run of this page, and one to compare it with
    this.longest = 0; // the longest tick so far in ms
    this.add(record, () => this.tick);
  }

  // shown: the tick that is shown
  add(record, shown) {
    this.runs.push({ record, shown, toGo: new ToGo(record), looked: 0 });
  }

  // The time that two runs have in common as their time line; a single run has its ticks.
  get span() {
    return this.runs.length > 1 ? this.record.time.last : 0;
  }

  resize() {
    this.context = fitted(this.canvas);
  }

  get width() {
    return $('scrub').clientWidth; // as wide as the strips, and never hidden
  }

  xOf(tick, record = this.record) {
    if (this.span) return (record.time.values[tick] / this.span) * this.width;
    return this.record.ticks < 2 ? 0 : (tick / (this.record.ticks - 1)) * this.width;
  }

  tickAt(x) {
    const share = Math.min(Math.max(x / Math.max(this.width, 1), 0), 1);
    return this.span ? this.nearestTick(share * this.span) : Math.round(share * (this.record.ticks - 1));
  }

  nearestTick(time) {
    const { ticks, time: { values } } = this.record;
    const tick = this.record.tickAt(time);
    return tick + 1 < ticks && values[tick + 1] - time < time - values[tick] ? tick + 1 : tick;
  }

  // The restart whose mark is near this x, if any.
  restartNear(x) {
    const { restarts } = this.record;
    const i = Record.indexAt(restarts, this.tickAt(x));
    const near = [restarts[i], restarts[i + 1]].filter((event) => event && Math.abs(this.xOf(event.tick) - x) <= 7);
    near.sort((a, b) => Math.abs(this.xOf(a.tick) - x) - Math.abs(this.xOf(b.tick) - x));
    return near[0];
  }

  // The scale is logarithmic, so that both idle and long ticks are visible.
  heightOf(ms) {
    return (Math.log10(Math.max(ms, this.least) / this.least) / Math.log10(this.most / this.least)) * this.room;
  }

  draw() {
    this.strips?.draw();
    const { context, record, canvas } = this;
    const height = canvas.clientHeight;
    context.clearRect(0, 0, this.width, height);
    if (!record.ticks || !height) return;
    this.room = height - MARKS - BELOW;
    this.base = height - BELOW;
    this.limits();
    this.drawLines();
    this.drawBars();
    this.drawRestarts();
    this.drawBudget();
  }

  // Reads only the new ticks of a run that grows.
  limits() {
    for (const run of this.runs) {
      const { ticks, duration } = run.record;
      for (; run.looked < ticks; run.looked++) this.longest = Math.max(this.longest, duration.values[run.looked]);
    }
    const { ticks, duration: { values } } = this.record;
    const count = Math.min(ticks, SAMPLES);
    const some = Float32Array.from({ length: count }, (_, i) => values[Math.floor((i * ticks) / count)]);
    const middle = some.sort()[some.length >> 1];
    this.most = Math.max(this.longest, 1.3 * this.budget, 0.01);
    this.least = Math.max(Math.min(middle / 10, this.most / 100), 1e-4);
  }

  // Moves the strips' figures to this tick.
  show(tick) {
    this.tick = tick;
    this.strips.show();
  }

  // The median and the 99th percentile of the tick times. Sorting takes its time, so a long run is sorted now and then.
  showPercentiles(isComplete = false) {
    const { ticks, duration: { values } } = this.record;
    if (!isComplete && ticks > SORTED_AT_ONCE && ticks < 1.01 * this.sorted) return;
    this.sorted = ticks;
    $('percentiles').textContent = percentilesText(values.slice(0, ticks));
  }

  get budget() {
    return 1000 * (this.record.head.budget_s || 0);
  }

  drawLines() {
    const { context } = this;
    context.strokeStyle = colour('line');
    context.fillStyle = colour('faint');
    context.lineWidth = 1;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'bottom';
    for (let ms = 10 ** Math.ceil(Math.log10(this.least)); ms <= this.most; ms *= 10) {
      const y = Math.round(this.base - this.heightOf(ms)) + 0.5;
      context.beginPath();
      line(context, 0, y, this.width, y);
      context.stroke();
    }
  }

  drawBars() {
    const { context, record } = this;
    const [plain, over] = [colour('bar'), colour('over')];
    for (const { x, wide, most } of this.bars(record, (tick) => record.duration.values[tick])) {
      const h = Math.max(this.heightOf(most), 1);
      context.fillStyle = this.budget && most > this.budget ? over : plain;
      context.fillRect(x, this.base - h, wide, h);
    }
    this.drawSecond(context, (run, tick) => run.record.duration.values[tick], (ms) => this.base - this.heightOf(ms));
  }

  // The second run as a line before the bars of the first.
  drawSecond(context, valueAt, yOf) {
    const run = this.runs[1];
    if (!run) return;
    context.beginPath();
    for (const { x, wide, most } of this.bars(run.record, (tick) => valueAt(run, tick))) {
      context.lineTo(x, yOf(most));
      context.lineTo(x + wide, yOf(most));
    }
    context.lineWidth = 1.25;
    context.strokeStyle = colour('second');
    context.stroke();
  }

  // Each bar is one pixel wide, or more, and shows the highest value of its ticks.
  *bars(record, valueAt) {
    const width = this.span ? this.xOf(record.ticks - 1, record) : this.width;
    const bars = Math.max(Math.min(Math.floor(width), record.ticks), 1);
    const wide = width / bars;
    const tickOf = (i) => (this.span ? record.tickAt((i / bars) * record.time.last) : Math.floor((i / bars) * record.ticks));
    for (let i = 0; i < bars; i++) {
      const from = tickOf(i), to = i + 1 < bars ? Math.max(tickOf(i + 1), from + 1) : record.ticks;
      let most = 0;
      for (let t = from; t < to; t++) most = Math.max(most, valueAt(t));
      yield { x: i * wide, wide: Math.max(wide - (wide > 3 ? 1 : 0), 0.6), most };
    }
  }

  drawBudget() {
    const { context } = this;
    this.labelLines();
    if (!this.budget) return;
    const y = Math.round(this.base - this.heightOf(this.budget)) + 0.5;
    context.beginPath();
    line(context, 0, y, this.width, y);
    context.setLineDash([5, 4]);
    context.strokeStyle = colour('over');
    context.lineWidth = 1.25;
    context.stroke();
    context.setLineDash([]);
    context.textAlign = 'right';
    context.textBaseline = 'top';
    this.label(`budget ${durationText(this.budget)}`, this.width - 2, y + 2, colour('over'));
  }

  // From the top, as far as there is room.
  labelLines() {
    const { context } = this;
    context.textAlign = 'left';
    context.textBaseline = 'bottom';
    let above = MARKS - 2;
    for (let ms = 10 ** Math.floor(Math.log10(this.most)); ms >= this.least; ms /= 10) {
      const y = this.base - this.heightOf(ms) - 1;
      if (y - 12 < above) continue;
      this.label(durationText(ms), 2, y, colour('faint'));
      above = y;
    }
  }

  // Text on its own background, because there are bars below it.
  label(text, x, y, ink) {
    const { context } = this;
    const wide = context.measureText(text).width + 4;
    context.globalAlpha = 0.8;
    context.fillStyle = colour('surface');
    context.fillRect(context.textAlign === 'right' ? x - wide + 2 : x - 2, context.textBaseline === 'top' ? y : y - 12, wide, 12);
    context.globalAlpha = 1;
    context.fillStyle = ink;
    context.fillText(text, x, y);
  }

  drawRestartsOfSecond(record) {
    const { context } = this;
    context.fillStyle = colour('second');
    for (const { tick } of record.restarts) context.fillRect(this.xOf(tick, record) - 1, 0, 2, MARKS - 2);
  }

  drawRestarts() {
    const { context, record } = this;
    if (this.runs[1]) this.drawRestartsOfSecond(this.runs[1].record);
    context.fillStyle = colour('restart');
    for (const { tick } of record.restarts) {
      const x = this.xOf(tick);
      context.beginPath();
      context.moveTo(x, MARKS - 3);
      context.lineTo(x - 4.5, MARKS - 12);
      context.lineTo(x + 4.5, MARKS - 12);
      context.closePath();
      context.fill();
      context.globalAlpha = 0.35;
      context.fillRect(x - 0.5, MARKS - 3, 1, this.room + 3);
      context.globalAlpha = 1;
    }
    context.fillStyle = colour('faint');
    for (const { tick } of record.gaps) context.fillRect(this.xOf(tick) - 1.5, MARKS, 3, this.room);
  }
}

function percentilesText(durations) {
  durations.sort();
  const [p50, p99] = [0.5, 0.99].map((share) => durationText(quantile(durations, share)));
  return `tick time p50 ${p50}, p99 ${p99}`;
}

// Between two values this is on the line between them.
function quantile(sorted, share) {
  const at = share * (sorted.length - 1), low = Math.floor(at);
  return sorted[low] + (at - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
}

function durationText(ms) {
  if (ms >= 1000) return `${round(ms / 1000)} s`;
  return ms >= 0.1 ? `${round(ms)} ms` : `${round(1000 * ms)} µs`;
}

function round(value) {
  return String(Number(value.toPrecision(3)));
}
