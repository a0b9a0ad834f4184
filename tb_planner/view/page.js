// The page: it loads a record or follows a live one, and plays it.

const SLICE_MS = 12; // work for a seek between two frames of the page
const SCOUT_MS = 6;
const LONGEST_FRAME_MS = 250; // a page that was hidden goes on where it was
const GROWN_MS = 200; // between two redraws of a record that is loading: each takes longer as it grows

const NOTHING_YET = 'Waiting for the first tick of the run.';

class Page {
  constructor() {
    this.record = new Record();
    this.frames = new KeyFrames();
    this.replay = new Replay(this.record, this.frames);
    this.scout = new Replay(this.record, this.frames, true); // runs ahead and keeps key frames
    this.setTheme(savedTheme());
    this.scene = new Scene($('map'), this.record, this.replay);
    this.timeline = new Timeline($('times'), this.record);
    this.timeline.strips = new Strips(this.timeline);
    this.range = new PlayRange(this);
    this.export = new Export(this);
    this.target = 0;
    this.time = 0; // of the record, while it plays
    this.isPlaying = this.isFollowing = this.isLive = this.isBehind = false;
    this.wantsFrame = false;
    this.lengths = new Lengths(this.record);
    this.figures = new Figures(this.record, this.timeline, this.scene.why, this.lengths);
    this.opening = new Opening(this);
    this.controls = new Controls(this);
    this.moment = new Moment(this);
    this.measure = new Measure(this);
    this.inspector = new Inspector(this);
    this.resize();
  }

  // -------------------------------------------------------------------------------------------------- loading
  async open(file) {
    await this.record.appendAll(bodies(file), () => this.grownMeanwhile());
    if (!this.record.ticks) throw new Error('This record contains no ticks.');
    this.grown();
    this.timeline.showPercentiles(true);
    $('message').textContent = '';
    this.sendScout();
    this.companion?.prepare();
    if (!this.opening.hasUserActed) this.moment.apply(this.moment.wanted);
    this.opening.play();
  }

  // Receives the chunks from a server, one in each message.
  stream(path) {
    $('live').hidden = false;
    $('copy-link').hidden = true;
    $('message').textContent = NOTHING_YET;
    this.setLive(true);
    this.live = new Live(this, path);
  }

  // Appends all waiting chunks; a page that is opened late gets the whole run at once.
  async takeIn(waiting) {
    while (waiting.length) {
      const some = waiting.slice(0, BATCH);
      await this.record.append(some);
      waiting.splice(0, some.length);
      this.isBehind = waiting.length > 0;
      if (this.isBehind) this.grownMeanwhile();
      else this.grown();
    }
  }

  send(message) {
    this.live?.send(message);
  }

  grownMeanwhile() {
    if (performance.now() - (this.grownMs || 0) >= GROWN_MS) this.grown();
  }

  grown() {
    const { record } = this;
    this.grownMs = performance.now();
    if (!record.ticks) return;
    $('message').textContent = '';
    $('scrub').max = record.ticks - 1;
    this.figures.showHead();
    this.figures.listRestarts();
    this.timeline.draw();
    this.timeline.showPercentiles();
    this.range.place();
    this.opening.look();
    const isAtEnd = this.isLive && !this.isBehind;
    if (isAtEnd) this.goTo(record.ticks - 1);
    else this.redraw();
    if (isAtEnd) this.sendScout();
  }

  // Shows errors on the page.
  attempt(action) {
    try {
      action();
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    $('message').textContent = error.message;
    console.error(error);
  }

  sendScout() {
    if (this.scouting) return;
    this.scouting = true;
    const go = () => {
      const end = performance.now() + SCOUT_MS;
      while (this.scout.tick + 1 < this.record.ticks && performance.now() < end) this.scout.step();
      if (this.scout.tick + 1 < this.record.ticks) setTimeout(() => this.attempt(go), 4);
      else this.scouting = false;
    };
    this.attempt(go);
  }

  // -------------------------------------------------------------------------------------------------- time
  goTo(tick) {
    this.target = Math.min(Math.max(Math.round(tick), 0), Math.max(this.record.ticks - 1, 0));
    this.time = this.record.time.values[this.target];
    this.redraw();
  }

  step(by) {
    this.pause();
    this.goTo(this.target + by);
  }

  toRestart(direction) {
    this.pause();
    this.goTo(nextEvent(this.record.restarts, this.target, direction) ?? (direction > 0 ? this.record.ticks - 1 : 0));
  }

  // Goes to the next overrun or status change in this direction; without one a note reports that.
  jump(kind, direction) {
    const { record } = this;
    this.pause();
    const tick = kind === 'overrun' ? nextOverrun(record, this.target, direction) : nextEvent(record.statuses, this.target, direction);
    if (tick !== undefined) this.goTo(tick);
    if (tick !== undefined) note(`${kind} at ${record.time.values[tick].toFixed(2)} s`);
    else if (kind === 'overrun' && !record.head.budget_s) note('this record has no budget');
    else note(`no ${direction > 0 ? 'later' : 'earlier'} ${kind}`);
  }

  play() {
    const [from, to] = this.range.limits;
    if (this.target >= to || this.target < from) this.goTo(from);
    this.isPlaying = true;
    this.lastMs = performance.now();
    this.showPlaying();
    this.redraw();
  }

  pause() {
    this.isPlaying = false;
    if (this.isLive) this.setLive(false);
    this.showPlaying();
  }

  // Whether time passes: the page plays or is live.
  get goesOn() {
    return this.isPlaying || this.isLive;
  }

  toggle() {
    if (this.goesOn) this.pause();
    else this.play();
  }

  setLive(isLive) {
    this.isLive = isLive;
    this.isPlaying = false;
    $('live').setAttribute('aria-pressed', String(isLive));
    this.showPlaying();
    if (isLive) this.goTo(this.record.ticks - 1);
  }

  changeSpeed(by) {
    const { options } = $('speed');
    $('speed').selectedIndex = Math.min(Math.max($('speed').selectedIndex + by, 0), options.length - 1);
    keep('speed', $('speed').value);
  }

  playOn(nowMs) {
    const { record } = this;
    this.time += (Math.min(nowMs - this.lastMs, LONGEST_FRAME_MS) / 1000) * Number($('speed').value);
    this.lastMs = nowMs;
    const [from, to] = this.range.limits;
    this.target = Math.max(record.tickAt(this.time), this.target);
    if (this.time < record.time.values[to]) return;
    if (this.range.isLooping && to > from) this.goTo(from);
    else {
      this.goTo(to);
      this.pause();
    }
  }

  // -------------------------------------------------------------------------------------------------- frames
  redraw() {
    if (this.wantsFrame) return;
    this.wantsFrame = true;
    requestAnimationFrame((nowMs) => this.attempt(() => this.frame(nowMs)));
  }

  frame(nowMs) {
    this.wantsFrame = false;
    if (!this.record.ticks) return;
    if (this.isPlaying) this.playOn(nowMs);
    const isThere = this.replay.seek(this.target, SLICE_MS);
    const { tick } = this.replay;
    if (this.isFollowing && this.record.flags.values[tick] & HAS_POSE) {
      this.scene.moveTo(this.record.x.values[tick], this.record.y.values[tick]);
    }
    if (isThere || !this.scene.scale) this.draw();
    this.figures.show(this.target, this.isPlaying);
    const isOtherThere = !this.companion || this.companion.frame(this.target);
    this.timeline.show(this.target);
    this.isSettled = isThere && isOtherThere && !this.isPlaying && this.scene.why.isComplete;
    this.export.frame(isThere && isOtherThere);
    if (!this.isSettled) this.redraw();
  }

  draw() {
    this.scene.draw();
    if (!this.scene.scale) return;
    this.inspector.draw();
    this.measure.draw();
    this.controls.pointAgain();
  }

  showPlaying() {
    $('play').innerHTML = icon(this.goesOn ? 'pause' : 'play');
    $('play').setAttribute('aria-label', this.goesOn ? 'Pause' : 'Play');
  }

  // -------------------------------------------------------------------------------------------------- looks
  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    if (!this.scene) return;
    this.scene.readColours();
    this.timeline.draw();
    this.redraw();
  }

  toggleTheme() {
    const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    this.setTheme(theme);
    keep('theme', theme);
  }

  setFollowing(isFollowing) {
    this.isFollowing = isFollowing;
    $('follow').setAttribute('aria-pressed', String(isFollowing));
    if (isFollowing && this.scene.scale < 2 * this.scene.fittingScale()) this.scene.zoom(2.5);
    this.redraw();
  }

  fit() {
    this.setFollowing(false);
    this.scene.fit();
    this.redraw();
  }

  zoom(factor, x, y) {
    this.scene.zoom(factor, x, y);
    this.redraw();
  }

  resize() {
    this.scene.resize();
    this.companion?.scene.resize();
    this.timeline.resize();
    this.timeline.draw();
    this.redraw();
  }
}

function savedTheme() {
  const saved = kept('theme');
  if (saved === 'dark' || saved === 'light') return saved;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

async function main() {
  const page = new Page();
  window.tbPlanner = Object.assign(page, { packed, quantile, durationText });
  try {
    if (!globalThis.DecompressionStream) throw new Error('This browser is too old for this page: it has no DecompressionStream.');
    const { stream } = $('record').dataset;
    if ($('other')) page.companion = new Companion(page, $('other'));
    await page.companion?.load();
    if (stream) page.stream(stream);
    else await page.open(fromPieces($('record')));
  } catch (error) {
    page.fail(error);
  }
}

main();
