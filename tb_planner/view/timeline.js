// The chart below the map: the time of each tick, the budget, and the restarts.

const MARKS = 16; // pixels above the bars, for restarts
const BELOW = 5;
const SAMPLES = 1000; // ticks for the estimate of the median

class Timeline {
  constructor(canvas, record) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.record = record;
    this.longest = this.looked = 0; // the longest tick so far in ms, and the number of ticks read
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(Math.round(this.canvas.clientWidth * ratio), 1);
    this.canvas.height = Math.max(Math.round(this.canvas.clientHeight * ratio), 1);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  get width() {
    return this.canvas.clientWidth;
  }

  xOf(tick) {
    return this.record.ticks < 2 ? 0 : (tick / (this.record.ticks - 1)) * this.width;
  }

  tickAt(x) {
    const share = Math.min(Math.max(x / Math.max(this.width, 1), 0), 1);
    return Math.round(share * (this.record.ticks - 1));
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
    const { context, record, canvas } = this;
    const height = canvas.clientHeight;
    context.clearRect(0, 0, this.width, height);
    if (!record.ticks) return;
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
    const { ticks, duration: { values } } = this.record;
    for (; this.looked < ticks; this.looked++) if (values[this.looked] > this.longest) this.longest = values[this.looked];
    const count = Math.min(ticks, SAMPLES);
    const some = Float32Array.from({ length: count }, (_, i) => values[Math.floor((i * ticks) / count)]);
    const middle = some.sort()[some.length >> 1];
    this.most = Math.max(this.longest, 1.3 * this.budget, 0.01);
    this.least = Math.max(Math.min(middle / 10, this.most / 100), 1e-4);
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

  // Each bar is one pixel wide and shows the longest of its ticks.
  drawBars() {
    const { context, record } = this;
    const bars = Math.max(Math.min(Math.floor(this.width), record.ticks), 1);
    const wide = this.width / bars;
    const [plain, over] = [colour('bar'), colour('over')];
    for (let i = 0; i < bars; i++) {
      const from = Math.floor((i / bars) * record.ticks), to = Math.max(Math.floor(((i + 1) / bars) * record.ticks), from + 1);
      let most = 0;
      for (let t = from; t < to; t++) if (record.duration.values[t] > most) most = record.duration.values[t];
      const h = Math.max(this.heightOf(most), 1);
      context.fillStyle = this.budget && most > this.budget ? over : plain;
      context.fillRect(i * wide, this.base - h, Math.max(wide - (wide > 3 ? 1 : 0), 0.6), h);
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

  drawRestarts() {
    const { context, record } = this;
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

function durationText(ms) {
  if (ms >= 1000) return `${round(ms / 1000)} s`;
  return ms >= 0.1 ? `${round(ms)} ms` : `${round(1000 * ms)} µs`;
}

function round(value) {
  return String(Number(value.toPrecision(3)));
}
