// The strips below the tick times: size of the Open list, expansions and distance to go, over the same ticks.

const STRIPS = { times: 'Tick time', open: 'Open list', expansions: 'Expansions', 'to-go': 'To go' };
const SMALL = '(max-width: 760px), (max-height: 480px)'; // as in page.css: one strip, with a list to choose it

// The distance to go by tick, each computed once.
class ToGo {
  constructor(record) {
    this.lengths = new Lengths(record);
    this.values = new Series(Float32Array);
  }

  at(tick) {
    while (this.values.length <= tick) this.values.push(this.lengths.toGo(this.values.length).length ?? 0);
    return this.values.values[tick];
  }

  text(tick) {
    const { length, isLeast } = this.lengths.toGo(tick);
    return this.lengths.text(length, tick, isLeast);
  }
}

// A strip with a linear scale from 0 to its highest value.
class Strip {
  constructor(timeline, key, valueOf, textOf) {
    this.timeline = timeline;
    this.key = key;
    this.valueOf = valueOf; // (run, tick)
    this.textOf = textOf;
    this.most = 0;
    this.looked = [];
    this.lane = element('div', '', 'lane');
    this.canvas = document.createElement('canvas');
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', `${STRIPS[key]} of each tick`);
    this.name = element('span', STRIPS[key], 'lane-name');
    this.lane.append(this.canvas, this.name);
  }

  draw() {
    const context = fitted(this.canvas);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    context.clearRect(0, 0, width, height);
    if (!this.timeline.record.ticks) return;
    this.limits();
    const scale = (height - 2) / (this.most || 1);
    context.fillStyle = colour('bar');
    const [run] = this.timeline.runs;
    for (const { x, wide, most } of this.timeline.bars(run.record, (tick) => this.valueOf(run, tick))) {
      context.fillRect(x, height - most * scale, wide, most * scale);
    }
    this.timeline.drawSecond(context, (other, tick) => this.valueOf(other, tick), (value) => height - value * scale);
  }

  // Reads only the new ticks of a run that grows.
  limits() {
    this.timeline.runs.forEach((run, i) => {
      let tick = this.looked[i] || 0;
      for (; tick < run.record.ticks; tick++) this.most = Math.max(this.most, this.valueOf(run, tick));
      this.looked[i] = tick;
    });
  }

  show() {
    const values = this.timeline.runs.map((run) => this.textOf(run, run.shown()));
    const text = `${STRIPS[this.key]} ${values.join(' | ')}`;
    if (this.name.textContent !== text) this.name.textContent = text;
  }
}

// All strips, and which of them are shown: any number of them, or one on a small screen.
class Strips {
  constructor(timeline) {
    this.timeline = timeline;
    const ticks = (name) => [(run, tick) => run.record[name].values[tick], (run, tick) => count(run.record[name].values[tick])];
    this.strips = [
      new Strip(timeline, 'open', ...ticks('openSize')),
      new Strip(timeline, 'expansions', ...ticks('expansions')),
      new Strip(timeline, 'to-go', (run, tick) => run.toGo.at(tick), (run, tick) => run.toGo.text(tick)),
    ];
    this.lanes = { times: $('times').parentElement };
    for (const { key, lane } of this.strips) {
      this.lanes[key] = lane;
      $('lanes').append(lane);
    }
    this.small = matchMedia(SMALL);
    const hidden = (kept('hidden strips') || '').split(',');
    this.shown = new Set(Object.keys(STRIPS).filter((key) => !hidden.includes(key)));
    this.one = Object.hasOwn(STRIPS, kept('strip')) ? kept('strip') : 'times';
    this.buildChoice();
    this.apply();
  }

  buildChoice() {
    for (const [key, name] of Object.entries(STRIPS)) {
      const button = element('button', name);
      button.type = 'button';
      button.dataset.strip = key;
      button.title = `Show or hide the strip: ${name}`;
      button.addEventListener('click', () => this.toggle(key));
      $('strips').append(button);
      $('one-strip').append(new Option(name, key));
    }
    $('one-strip').addEventListener('change', () => {
      this.one = $('one-strip').value;
      keep('strip', this.one);
      this.change();
    });
    this.small.addEventListener('change', () => this.change());
  }

  toggle(key) {
    if (!this.shown.delete(key)) this.shown.add(key);
    keep('hidden strips', Object.keys(STRIPS).filter((other) => !this.shown.has(other)).join(','));
    this.change();
  }

  isShown(key) {
    return this.small.matches ? key === this.one : this.shown.has(key);
  }

  change() {
    this.apply();
    this.timeline.draw();
    this.show();
  }

  apply() {
    for (const [key, lane] of Object.entries(this.lanes)) lane.hidden = !this.isShown(key);
    for (const button of $('strips').children) button.setAttribute('aria-pressed', String(this.shown.has(button.dataset.strip)));
    $('one-strip').value = this.one;
  }

  draw() {
    for (const strip of this.strips) if (this.isShown(strip.key)) strip.draw();
  }

  show() {
    for (const strip of this.strips) if (this.isShown(strip.key)) strip.show();
  }

  // The values of a tick in words, of the strips that are shown.
  textsAt(tick) {
    const shown = this.strips.filter(({ key }) => this.isShown(key));
    return shown.map(({ key, textOf }) => `${STRIPS[key].toLowerCase()} ${textOf(this.timeline.runs[0], tick)}`);
  }
}
