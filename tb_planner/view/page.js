// Controls, figures, and the clock that plays.

const SLICE_MS = 12; // of work for a far seek, between two frames of the page
const SCOUT_MS = 6;
const STROKE_M = 0.15; // between two points of a line that is drawn

const $ = (id) => document.getElementById(id);
const ICONS = {
  play: '<path class="solid" d="M7 5l12 7-12 7z"/>',
  pause: '<path d="M8 5v14M16 5v14" stroke-width="3.4"/>',
  back: '<path d="M15 6l-7 6 7 6"/>',
  forward: '<path d="M9 6l7 6-7 6"/>',
  'restart-before': '<path d="M18 6l-7 6 7 6M6 5v14"/>',
  'restart-after': '<path d="M6 6l7 6-7 6M18 5v14"/>',
  'zoom-fit': '<path d="M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5"/>',
  follow: '<circle cx="12" cy="12" r="3" class="solid"/><path d="M12 3v4M12 17v4M3 12h4M17 12h4"/>',
  move: '<path d="M12 4v16M4 12h16M9 7l3-3 3 3M9 17l3 3 3-3M7 9l-3 3 3 3M17 9l3 3-3 3"/>',
  goal: '<circle cx="12" cy="12" r="8"/><circle cx="12" cy="12" r="2.6" class="solid"/>',
  draw: '<path d="M5 19l1-4L16 5l3 3L9 18z"/>',
  erase: '<path d="M9 19l-5-5L14 4l6 6-9 9zM9 9l6 6"/>',
  theme: '<path d="M12 4a8 8 0 1 0 0 16z" class="solid"/><circle cx="12" cy="12" r="8"/>',
};

function icon(name) {
  return `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${ICONS[name]}</svg>`;
}

class Page {
  constructor() {
    this.record = new Record();
    this.frames = new KeyFrames();
    this.replay = new Replay(this.record, this.frames);
    this.scout = new Replay(this.record, this.frames, true); // goes ahead and leaves key frames
    this.setTheme(savedTheme());
    this.scene = new Scene($('map'), this.record, this.replay);
    this.timeline = new Timeline($('times'), this.record);
    this.target = 0;
    this.time = 0; // of the record, while it plays
    this.isPlaying = this.isFollowing = this.isLive = false;
    this.wantsFrame = false;
    this.tool = 'move';
    this.listed = 0;
    for (const name of Object.keys(ICONS)) if ($(name)) $(name).innerHTML = icon(name);
    for (const button of $('tools').children) button.innerHTML = icon(button.dataset.tool);
    this.buildLegend();
    this.listen();
    this.resize();
  }

  // -------------------------------------------------------------------------------------------------- loading
  async open(file) {
    await this.record.appendAll(bodies(file), () => this.grown());
    if (!this.record.ticks) throw new Error('This record has no ticks.');
    $('message').textContent = '';
    this.sendScout();
  }

  // The same chunks from a server, one a message. A server that was gone, or a record that was begun anew, is seen anew.
  stream(path) {
    const url = new URL(path, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url);
    let last = Promise.resolve();
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      if (this.record.head.kind) location.reload();
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string') this.setTools(JSON.parse(data).input);
      else last = last.then(() => this.record.append(new Uint8Array(data, 4))).then(() => this.grown()).catch((error) => this.fail(error));
    };
    socket.onclose = () => {
      this.setTools(false);
      $('live').textContent = 'Not connected';
      setTimeout(() => this.stream(path), 1000);
    };
    this.socket = socket;
    $('live').hidden = false;
    if (!this.record.ticks) $('message').textContent = 'Nothing has been recorded yet.';
    this.setLive(true);
  }

  tell(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  grown() {
    const { record } = this;
    if (!record.ticks) return;
    $('message').textContent = '';
    $('scrub').max = record.ticks - 1;
    this.showHead();
    this.listRestarts();
    this.timeline.draw();
    if (this.isLive) this.goTo(record.ticks - 1);
    else this.redraw();
    if (this.isLive) this.sendScout();
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
      if (this.scout.tick + 1 < this.record.ticks) setTimeout(go, 4);
      else this.scouting = false;
    };
    go();
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
    const { restarts } = this.record;
    this.pause();
    const i = direction > 0 ? Record.indexAt(restarts, this.target) + 1 : Record.indexAt(restarts, this.target - 1);
    if (restarts[i]) this.goTo(restarts[i].tick);
    else this.goTo(direction > 0 ? this.record.ticks - 1 : 0);
  }

  play() {
    if (this.target >= this.record.ticks - 1) this.goTo(0);
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

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  setLive(isLive) {
    this.isLive = isLive;
    $('live').textContent = 'Live';
    $('live').setAttribute('aria-pressed', String(isLive));
    if (isLive) this.goTo(this.record.ticks - 1);
  }

  changeSpeed(by) {
    const { options } = $('speed');
    $('speed').selectedIndex = Math.min(Math.max($('speed').selectedIndex + by, 0), options.length - 1);
  }

  playOn(nowMs) {
    const { record } = this;
    this.time += ((nowMs - this.lastMs) / 1000) * Number($('speed').value);
    this.lastMs = nowMs;
    const last = record.ticks - 1;
    this.target = Math.max(record.tickAt(this.time), this.target);
    if (this.time >= record.time.values[last]) {
      this.target = last;
      this.pause();
    }
  }

  // -------------------------------------------------------------------------------------------------- frames
  redraw() {
    if (this.wantsFrame) return;
    this.wantsFrame = true;
    requestAnimationFrame((nowMs) => this.frame(nowMs));
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
    if (isThere || !this.scene.scale) this.scene.draw();
    this.show(this.target);
    this.isSettled = isThere && !this.isPlaying;
    if (!this.isSettled) this.redraw();
  }

  // -------------------------------------------------------------------------------------------------- figures
  showHead() {
    const { head, maps } = this.record;
    if (head.title && $('title').textContent === 'A run') document.title = $('title').textContent = head.title;
    const facts = maps[0]?.facts;
    if (facts) document.documentElement.style.setProperty('--aspect', facts.width / facts.height);
    const size = facts && `${facts.width} × ${facts.height} cells${facts.resolution_m ? ` of ${round(facts.resolution_m)} m` : ''}`;
    const pace = head.period_s && `a tick every ${durationText(1000 * head.period_s)}`;
    const others = Object.entries(head.facts || {}).map(([name, value]) => `${name} ${value}`);
    $('facts').textContent = [head.algorithm, size, pace, ...others].filter(Boolean).join(' · ');
  }

  show(tick) {
    const { record } = this;
    const status = Record.at(record.statuses, tick)?.status || '';
    if ($('status').textContent !== words(status)) $('status').textContent = words(status);
    const restart = Record.at(record.restarts, tick);
    const isNew = Boolean(restart) && record.time.values[tick] - record.time.values[restart.tick] < 0.5;
    $('restarted').hidden = !isNew;
    if (isNew) $('restarted').textContent = `restart: ${restart.restarts.map(words).join(', ')}`;
    this.showFigures(tick);
    this.showTime(tick, status);
    this.markRestart(tick);
  }

  showFigures(tick) {
    const { record } = this;
    const value = (name) => record[name].values[tick];
    const rows = [
      ['Tick', `${count(tick)} of ${count(record.ticks - 1)}`],
      ['Tick took', durationText(value('duration'))],
      ['Expansions', count(value('expansions'))],
      ['In Open', count(value('openSize'))],
      ['Route', this.lengthText(value('left'))],
      ['of it back', this.lengthText(value('back'))],
      ['Restarts', count(Record.indexAt(record.restarts, tick) + 1)],
    ];
    const key = rows.map((row) => row[1]).join('|');
    if (key === this.shownFigures) return;
    this.shownFigures = key;
    if ($('figures').childElementCount !== rows.length) {
      $('figures').replaceChildren(...rows.map(([name]) => {
        const row = document.createElement('div');
        row.append(element('dt', name), element('dd', ''));
        return row;
      }));
    }
    rows.forEach(([, text], i) => { $('figures').children[i].lastChild.textContent = text; });
  }

  lengthText(moves) {
    return moves ? `${count(moves)} ${moves === 1 ? 'cell' : 'cells'}` : '–';
  }

  showTime(tick, status) {
    const { record } = this;
    const last = record.ticks - 1;
    const time = `${record.time.values[tick].toFixed(2)} s`;
    const clock = `${time} of ${record.time.values[last].toFixed(2)} s`;
    if ($('clock').textContent !== clock) $('clock').textContent = clock;
    $('playhead').style.transform = `translateX(${this.timeline.xOf(tick)}px)`;
    if (Number($('scrub').value) !== tick) $('scrub').value = tick;
    const text = `tick ${tick} of ${last}, ${time}, ${words(status)}`;
    $('scrub').setAttribute('aria-valuetext', text);
    if (!this.isPlaying) $('map').setAttribute('aria-label', `Map with the robot and its search at ${text}`);
  }

  showPlaying() {
    $('play').innerHTML = icon(this.isPlaying ? 'pause' : 'play');
    $('play').setAttribute('aria-label', this.isPlaying ? 'Pause' : 'Play');
  }

  listRestarts() {
    const { restarts, time } = this.record;
    for (; this.listed < restarts.length; this.listed++) {
      const { tick, restarts: reasons } = restarts[this.listed];
      const button = document.createElement('button');
      button.type = 'button';
      button.dataset.tick = tick;
      button.append(element('span', `${time.values[tick].toFixed(2)} s`, 'when'), element('span', reasons.map(words).join(', ')));
      const item = document.createElement('li');
      item.append(button);
      $('restarts').append(item);
    }
    $('restarts-title').textContent = `Restarts (${restarts.length})`;
    if (!restarts.length && !$('restarts').childElementCount) $('restarts').append(element('li', 'none', 'none'));
    else if (restarts.length) $('restarts').querySelector('.none')?.remove();
  }

  markRestart(tick) {
    const i = Record.indexAt(this.record.restarts, tick);
    if (i === this.marked) return;
    $('restarts').querySelector('[aria-current]')?.removeAttribute('aria-current');
    this.marked = i;
    const button = i < 0 ? null : $('restarts').children[i].firstChild;
    if (!button) return;
    button.setAttribute('aria-current', 'true');
    const list = $('restarts');
    if (list.scrollHeight > list.clientHeight) list.scrollTop = button.offsetTop - list.offsetTop - list.clientHeight / 2;
  }

  // -------------------------------------------------------------------------------------------------- controls
  buildLegend() {
    for (const [key, name, canBeHidden, sign] of LAYERS) {
      const label = document.createElement(canBeHidden ? 'label' : 'div');
      const holder = document.createElement('li');
      label.innerHTML = signOf(sign);
      if (canBeHidden) {
        const box = document.createElement('input');
        box.type = 'checkbox';
        box.checked = true;
        box.dataset.layer = key;
        box.addEventListener('change', () => {
          this.scene.hide(key, !box.checked);
          this.redraw();
        });
        label.prepend(box);
      } else {
        label.className = 'only';
        label.prepend(element('span', '', 'gap'));
      }
      label.append(name);
      holder.append(label);
      $('legend').append(holder);
    }
  }

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

  // Only a page that is heard has tools.
  setTools(areHeard) {
    $('tools').hidden = !areHeard;
    if (!areHeard) this.setTool('move');
  }

  setTool(tool) {
    this.tool = tool;
    $('map').parentElement.dataset.tool = tool;
    for (const button of $('tools').children) button.setAttribute('aria-checked', String(button.dataset.tool === tool));
  }

  // What the pointer does to the world at this place, in pixels; true if it is more than moving the map.
  use(px, py, isFirst) {
    const { facts } = this.replay.map || {};
    if (this.tool === 'move' || !facts?.origin) return false;
    const place = toMetres(facts, ...this.scene.cellAt(px, py));
    if (this.tool !== 'goal') this.stroke(isFirst ? place : this.lastPlace, place);
    else if (isFirst) this.tell({ goal: place });
    this.lastPlace = place;
    return true;
  }

  // Points from one place to another, near enough to make a line.
  stroke(from, to) {
    const steps = Math.min(Math.max(Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / STROKE_M), 1), 100);
    for (let i = 1; i <= steps; i++) {
      this.tell({ [this.tool]: [0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * i) / steps) });
    }
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
    this.timeline.resize();
    this.timeline.draw();
    this.redraw();
  }

  listen() {
    const click = (id, action) => $(id).addEventListener('click', action);
    click('play', () => this.toggle());
    click('back', () => this.step(-1));
    click('forward', () => this.step(1));
    click('restart-before', () => this.toRestart(-1));
    click('restart-after', () => this.toRestart(1));
    click('zoom-in', () => this.zoom(1.5));
    click('zoom-out', () => this.zoom(1 / 1.5));
    click('zoom-fit', () => this.fit());
    click('follow', () => this.setFollowing(!this.isFollowing));
    click('theme', () => this.toggleTheme());
    click('live', () => this.setLive(!this.isLive));
    for (const button of $('tools').children) button.addEventListener('click', () => this.setTool(button.dataset.tool));
    click('help-button', () => $('help').showModal());
    $('restarts').addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (!button) return;
      this.pause();
      this.goTo(Number(button.dataset.tick));
    });
    $('scrub').addEventListener('input', () => {
      this.pause();
      this.goTo(Number($('scrub').value));
    });
    this.listenToStrip();
    this.listenToMap();
    window.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe($('map'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.setTheme(savedTheme()));
  }

  listenToStrip() {
    const strip = $('scrub');
    strip.addEventListener('pointermove', (event) => this.tip(event.offsetX));
    strip.addEventListener('pointerleave', () => { $('tip').hidden = true; });
    // a press goes to the tick under the pointer, not to where a browser puts the thumb of a range
    strip.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      strip.focus({ preventScroll: true });
      strip.setPointerCapture(event.pointerId);
      this.scrubTo(event, this.timeline.restartNear(event.offsetX));
    });
    strip.addEventListener('pointermove', (event) => {
      if (strip.hasPointerCapture(event.pointerId)) this.scrubTo(event);
    });
  }

  scrubTo(event, restart) {
    this.pause();
    this.goTo(restart && event.offsetY < 2 * MARKS ? restart.tick : this.timeline.tickAt(event.offsetX));
  }

  tip(x) {
    const { record, timeline } = this;
    if (!record.ticks) return;
    const restart = timeline.restartNear(x);
    const tick = restart ? restart.tick : timeline.tickAt(x);
    const why = restart ? ` · restart: ${restart.restarts.map(words).join(', ')}` : '';
    $('tip').textContent = `${record.time.values[tick].toFixed(2)} s · ${durationText(record.duration.values[tick])}${why}`;
    $('tip').hidden = false;
    const half = $('tip').offsetWidth / 2;
    $('tip').style.left = `${Math.min(Math.max(timeline.xOf(tick), half), timeline.width - half)}px`;
  }

  listenToMap() {
    const map = $('map');
    const pointers = new Map();
    let pinch = 0;
    const spread = () => {
      const [a, b] = [...pointers.values()];
      return { far: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    };
    map.addEventListener('pointerdown', (event) => {
      map.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      if (pointers.size === 1 && this.use(event.offsetX, event.offsetY, true)) return;
      map.classList.add('dragged');
      if (pointers.size === 2) pinch = spread().far;
    });
    map.addEventListener('pointermove', (event) => {
      this.point(event.offsetX, event.offsetY);
      const before = pointers.get(event.pointerId);
      if (!before) return;
      if (pointers.size === 1 && this.use(event.offsetX, event.offsetY, false)) return;
      if (pointers.size === 1) {
        if (this.isFollowing) this.setFollowing(false);
        this.scene.drag(event.offsetX - before.x, event.offsetY - before.y);
      }
      pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      if (pointers.size === 2) {
        const now = spread();
        this.scene.zoom(now.far / pinch, now.x, now.y);
        pinch = now.far;
      }
      this.redraw();
    });
    for (const name of ['pointerup', 'pointercancel']) {
      map.addEventListener(name, (event) => {
        pointers.delete(event.pointerId);
        map.classList.toggle('dragged', pointers.size > 0);
      });
    }
    map.addEventListener('pointerleave', () => { $('pointed').textContent = ''; });
    map.addEventListener('dblclick', () => this.tool === 'move' && this.fit());
    map.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.offsetX, event.offsetY);
    }, { passive: false });
  }

  // Says what is under the pointer.
  point(px, py) {
    const { replay, scene } = this;
    if (!scene.scale || !replay.map) return;
    const [x, y] = scene.cellAt(px, py);
    const [cx, cy] = [Math.floor(x), Math.floor(y)];
    if (cx < 0 || cy < 0 || cx >= replay.width || cy >= replay.height) {
      $('pointed').textContent = '';
      return;
    }
    const s = cy * replay.width + cx;
    const { facts } = replay.map;
    const metres = facts.origin ? ` · ${toMetres(facts, x, y).map((value) => value.toFixed(2)).join(', ')} m` : '';
    const met = ['', ' · in Open', ' · expanded'][replay.search[s]];
    $('pointed').textContent = `cell ${cx}, ${cy}${metres} · ${className(replay.cells[s])}${met}`;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || $('help').open) return;
    const inSelect = event.target instanceof HTMLSelectElement;
    const onButton = event.target instanceof HTMLButtonElement || (event.target instanceof HTMLInputElement && event.target.type === 'checkbox');
    const far = event.shiftKey ? 10 : 1;
    const actions = {
      ArrowLeft: () => this.step(-far),
      ArrowRight: () => this.step(far),
      ArrowUp: () => this.changeSpeed(1),
      ArrowDown: () => this.changeSpeed(-1),
      Home: () => this.step(-Infinity),
      End: () => this.step(Infinity),
      '[': () => this.toRestart(-1),
      ']': () => this.toRestart(1),
      '+': () => this.zoom(1.5),
      '=': () => this.zoom(1.5),
      '-': () => this.zoom(1 / 1.5),
      0: () => this.fit(),
      f: () => this.setFollowing(!this.isFollowing),
      d: () => this.toggleTheme(),
      '?': () => $('help').showModal(),
      ' ': () => this.toggle(),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || inSelect || (onButton && event.key === ' ')) return;
    event.preventDefault();
    action();
  }
}

function element(tag, text, className = '') {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function count(value) {
  return value.toLocaleString('en').replaceAll(',', ' ');
}

// NO_PATH is "no path".
function words(name) {
  return name.toLowerCase().replaceAll('_', ' ');
}

function className(value) {
  if (value === 0) return 'free';
  if (value <= DEAREST) return `costs ${round(2 ** (value / 32))}`;
  return { [UNKNOWN]: 'unknown', [UNKNOWN_BLOCKED]: 'unknown, blocked', [KEPT_CLEAR]: 'kept clear', [OBSTACLE]: 'obstacle' }[value];
}

function signOf(sign) {
  const [kind, name] = sign.split(' ');
  const shapes = {
    line: `<path d="M1 7.5h22" stroke="var(--${name})" stroke-width="3" ${name === 'back' ? 'stroke-dasharray="6 4"' : ''}/>`,
    cell: `<rect x="5" y="1" width="13" height="13" rx="2" fill="var(--${name})" stroke="var(--line)"/>`,
    robot: '<path d="M19 7.5L6 13l3-5.5L6 2z" fill="var(--robot)"/>',
    goal: '<circle cx="12" cy="7.5" r="6" fill="var(--goal)" stroke="var(--goal-rim)" stroke-width="1.2"/><circle cx="12" cy="7.5" r="2" fill="var(--goal-rim)"/>',
    waypoint: '<circle cx="12" cy="7.5" r="4" fill="var(--waypoint)" stroke="var(--goal-rim)" stroke-width="1.2"/>',
  };
  return `<svg viewBox="0 0 24 15" aria-hidden="true">${shapes[kind]}</svg>`;
}

function keep(name, value) {
  try {
    localStorage.setItem(`tb_planner ${name}`, value);
  } catch {
    // a page from disk may have nowhere to keep it
  }
}

function savedTheme() {
  try {
    const saved = localStorage.getItem('tb_planner theme');
    if (saved === 'dark' || saved === 'light') return saved;
  } catch {
    // as above
  }
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

async function main() {
  const page = new Page();
  window.tbPlanner = Object.assign(page, { packed });
  try {
    if (!globalThis.DecompressionStream) throw new Error('This browser is too old for this page: it has no DecompressionStream.');
    const { textContent, dataset } = $('record');
    if (dataset.stream) page.stream(dataset.stream);
    else await page.open(fromBase64(textContent));
  } catch (error) {
    page.fail(error);
  }
}

main();
