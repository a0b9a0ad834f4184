// Buttons, keys, and pointer input on the chart and the map.

const STROKE_M = 0.15; // distance between two points of a stroke
const CLICK_PX = 5; // a press that moves further is a drag, not a click

class Controls {
  constructor(page) {
    this.page = page;
    this.tool = 'move';
    for (const name of Object.keys(ICONS)) if ($(name)) $(name).innerHTML = icon(name);
    for (const button of $('tools').children) button.innerHTML = icon(button.dataset.tool);
    this.buildLegend();
    this.listen();
  }

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
          this.page.scene.hide(key, !box.checked);
          this.page.moment.keepLayers();
          this.page.redraw();
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

  // Shows the tools if the server accepts input; the first tool is then the goal.
  setTools(acceptsInput) {
    if (acceptsInput !== $('tools').hidden) return;
    $('tools').hidden = !acceptsInput;
    this.setTool(acceptsInput ? 'goal' : 'move');
  }

  setTool(tool) {
    this.tool = tool;
    $('map').parentElement.dataset.tool = tool;
    for (const button of $('tools').children) button.setAttribute('aria-checked', String(button.dataset.tool === tool));
  }

  // The position in metres of a point in pixels; undefined without a map.
  placeAt(px, py) {
    const { facts } = this.page.replay.map || {};
    return facts?.origin ? toMetres(facts, ...this.page.scene.cellAt(px, py)) : undefined;
  }

  // Draws or erases at this point; returns false if the pointer moves the map instead.
  draw(px, py, isFirst) {
    const place = this.tool === 'draw' || this.tool === 'erase' ? this.placeAt(px, py) : undefined;
    if (!place) return false;
    this.stroke(isFirst ? place : this.lastPlace, place);
    this.lastPlace = place;
    return true;
  }

  click(px, py) {
    if (this.page.measure.isOn) {
      this.page.measure.click(...this.page.scene.cellAt(px, py));
      return;
    }
    const goal = this.tool === 'goal' ? this.placeAt(px, py) : undefined;
    if (goal) this.page.send({ goal });
    const mark = this.tool === 'move' ? this.page.scene.why.markAt(px, py) : undefined;
    if (mark) {
      this.page.pause();
      this.page.goTo(mark.tick);
    } else if (this.tool === 'move') this.page.inspector.toggle(this.page.scene.cellAt(px, py).map(Math.floor));
  }

  // Sends points from one position to another, close enough to make a line.
  stroke(from, to) {
    const steps = Math.min(Math.max(Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / STROKE_M), 1), 100);
    for (let i = 1; i <= steps; i++) {
      this.page.send({ [this.tool]: [0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * i) / steps) });
    }
  }

  listen() {
    const click = (id, action) => $(id).addEventListener('click', action);
    click('play', () => this.page.toggle());
    click('back', () => this.page.step(-1));
    click('forward', () => this.page.step(1));
    click('begin', () => this.page.step(-Infinity));
    click('end', () => this.page.step(Infinity));
    click('overrun', (event) => this.page.jump('overrun', event.shiftKey ? -1 : 1));
    click('status-change', (event) => this.page.jump('status change', event.shiftKey ? -1 : 1));
    click('loop', () => this.page.range.loop(!this.page.range.isLooping));
    click('range-begin', () => this.page.range.begin(this.page.target));
    click('range-end', () => this.page.range.end(this.page.target));
    click('range-clear', () => this.page.range.clear());
    click('restart-before', () => this.page.toRestart(-1));
    click('restart-after', () => this.page.toRestart(1));
    click('zoom-in', () => this.page.zoom(1.5));
    click('zoom-out', () => this.page.zoom(1 / 1.5));
    click('zoom-fit', () => this.page.fit());
    click('follow', () => this.page.setFollowing(!this.page.isFollowing));
    click('theme', () => this.page.toggleTheme());
    click('live', () => this.page.setLive(!this.page.isLive));
    for (const button of $('tools').children) button.addEventListener('click', () => this.setTool(button.dataset.tool));
    click('help-button', () => $('help').showModal());
    $('restarts').addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (!button) return;
      this.page.pause();
      this.page.goTo(Number(button.dataset.tick));
    });
    $('scrub').addEventListener('input', () => {
      this.page.pause();
      this.page.goTo(Number($('scrub').value));
    });
    this.listenToStrip();
    this.listenToMap($('map'));
    window.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.page.resize()).observe($('map'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.page.setTheme(savedTheme()));
  }

  listenToStrip() {
    const strip = $('scrub');
    strip.addEventListener('pointermove', (event) => this.tip(event.offsetX));
    strip.addEventListener('pointerleave', () => { $('tip').hidden = $('cursor').hidden = true; });
    // a press goes to the tick under the pointer; a browser would move the thumb of the range elsewhere
    strip.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      strip.focus({ preventScroll: true });
      strip.setPointerCapture(event.pointerId);
      this.scrubTo(event, this.page.timeline.restartNear(event.offsetX));
    });
    strip.addEventListener('pointermove', (event) => {
      if (strip.hasPointerCapture(event.pointerId)) this.scrubTo(event);
    });
  }

  scrubTo(event, restart) {
    const { timeline } = this.page;
    this.page.pause();
    const isOnMark = restart && event.offsetY < 2 * MARKS && timeline.strips.isShown('times');
    this.page.goTo(isOnMark ? restart.tick : timeline.tickAt(event.offsetX));
  }

  tip(x) {
    const { record, timeline } = this.page;
    if (!record.ticks) return;
    const restart = timeline.restartNear(x);
    const tick = restart ? restart.tick : timeline.tickAt(x);
    const why = restart ? ` · restart: ${reasonText(restart.restarts)}` : '';
    const values = [`${record.time.values[tick].toFixed(2)} s`, durationText(record.duration.values[tick]), ...timeline.strips.textsAt(tick)];
    $('tip').textContent = `${values.join(' · ')}${why}`;
    $('tip').hidden = $('cursor').hidden = false;
    $('cursor').style.transform = `translateX(${timeline.xOf(tick)}px)`;
    const half = $('tip').offsetWidth / 2;
    $('tip').style.left = `${Math.min(Math.max(timeline.xOf(tick), half), timeline.width - half)}px`;
  }

  // isMain: whether to explain what is under the pointer and to heed clicks, or to move the map only.
  listenToMap(map, isMain = true) {
    const pointers = new Map();
    let pinch = 0;
    let pressed; // where, while it may still be a click
    const spread = () => {
      const [a, b] = [...pointers.values()];
      return { far: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    };
    map.addEventListener('pointerdown', (event) => {
      if (event.button) return; // the others open menus
      map.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      pressed = pointers.size === 1 ? [event.offsetX, event.offsetY] : undefined;
      if (pressed && this.draw(...pressed, true)) return;
      map.classList.add('dragged');
      if (pointers.size === 2) pinch = spread().far;
    });
    map.addEventListener('pointermove', (event) => {
      if (isMain) {
        this.pointer = [event.offsetX, event.offsetY];
        this.point(...this.pointer);
      }
      const before = pointers.get(event.pointerId);
      if (!before) return;
      if (pressed && Math.hypot(event.offsetX - pressed[0], event.offsetY - pressed[1]) > CLICK_PX) pressed = undefined;
      if (pointers.size === 1 && this.draw(event.offsetX, event.offsetY, false)) return;
      if (pointers.size === 1 && !pressed) {
        if (this.page.isFollowing) this.page.setFollowing(false);
        this.page.scene.drag(event.offsetX - before.x, event.offsetY - before.y);
      }
      pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      if (pointers.size === 2) {
        const now = spread();
        this.page.scene.zoom(now.far / pinch, now.x, now.y);
        pinch = now.far;
      }
      this.page.redraw();
    });
    for (const name of ['pointerup', 'pointercancel']) {
      map.addEventListener(name, (event) => {
        pointers.delete(event.pointerId);
        if (isMain && pressed && name === 'pointerup') this.click(...pressed);
        pressed = undefined;
        map.classList.toggle('dragged', pointers.size > 0);
      });
    }
    map.addEventListener('pointerleave', () => {
      this.pointer = undefined;
      $('pointed').textContent = '';
      this.showMark();
    });
    map.addEventListener('dblclick', () => this.tool === 'move' && !this.page.measure.isOn && this.page.fit());
    map.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.page.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.offsetX, event.offsetY);
    }, { passive: false });
  }

  // Describes the cell under the pointer.
  point(px, py) {
    const { replay, scene } = this.page;
    if (!scene.scale || !replay.map) return;
    this.showMark(scene.why.markAt(px, py));
    const [x, y] = scene.cellAt(px, py);
    this.page.measure.point(x, y);
    const text = this.describe(x, y);
    if ($('pointed').textContent !== text) $('pointed').textContent = text;
  }

  // The read-out follows the tick.
  pointAgain() {
    if (this.pointer) this.point(...this.pointer);
  }

  describe(x, y) {
    const { replay } = this.page;
    const [cx, cy] = [Math.floor(x), Math.floor(y)];
    if (cx < 0 || cy < 0 || cx >= replay.width || cy >= replay.height) return '';
    const s = cy * replay.width + cx;
    const { facts } = replay.map;
    const metres = facts.origin ? ` · ${toMetres(facts, x, y).map((value) => value.toFixed(2)).join(', ')} m` : '';
    const met = ['', ' · open', ' · expanded'][replay.search[s]];
    return `cell ${cx}, ${cy}${metres} · ${className(replay.cells[s])}${met}`;
  }

  // Explains the restart whose mark is under the pointer.
  showMark(mark) {
    $('map').classList.toggle('on-mark', Boolean(mark) && this.tool === 'move');
    $('mark-tip').hidden = !mark;
    if (!mark) return;
    const { scene } = this.page;
    $('mark-tip').textContent = scene.why.markText(mark);
    const [x, y] = scene.pointOf(mark.x, mark.y);
    const half = $('mark-tip').offsetWidth / 2;
    $('mark-tip').style.left = `${Math.min(Math.max(x, half), Math.max($('map').clientWidth - half, half))}px`;
    $('mark-tip').style.top = `${Math.max(y, 40)}px`;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const inSelect = event.target instanceof Element && event.target.matches('select, input[type=text]');
    const onButton = event.target instanceof HTMLButtonElement || (event.target instanceof HTMLInputElement && event.target.type === 'checkbox');
    const far = event.shiftKey ? 10 : 1;
    if (!inSelect && !(onButton && event.key === 'Enter') && this.page.inspector.key(event)) {
      event.preventDefault();
      return;
    }
    const actions = {
      ArrowLeft: () => this.page.step(-far),
      ArrowRight: () => this.page.step(far),
      ArrowUp: () => this.page.changeSpeed(1),
      ArrowDown: () => this.page.changeSpeed(-1),
      Home: () => this.page.step(-Infinity),
      End: () => this.page.step(Infinity),
      o: () => this.page.jump('overrun', event.shiftKey ? -1 : 1),
      s: () => this.page.jump('status change', event.shiftKey ? -1 : 1),
      a: () => this.page.range.begin(this.page.target),
      b: () => this.page.range.end(this.page.target),
      x: () => this.page.range.clear(),
      e: () => $('export-dialog').showModal(),
      g: () => this.page.companion?.goToDifference(),
      l: () => this.page.range.loop(!this.page.range.isLooping),
      '[': () => this.page.toRestart(-1),
      ']': () => this.page.toRestart(1),
      '+': () => this.page.zoom(1.5),
      '=': () => this.page.zoom(1.5),
      '-': () => this.page.zoom(1 / 1.5),
      0: () => this.page.fit(),
      f: () => this.page.setFollowing(!this.page.isFollowing),
      d: () => this.page.toggleTheme(),
      m: () => this.page.measure.set(!this.page.measure.isOn),
      c: () => this.page.inspector.toggleCursor(),
      Escape: () => this.page.measure.set(false),
      '?': () => $('help').showModal(),
      ' ': () => this.page.toggle(),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || inSelect || (onButton && event.key === ' ')) return;
    event.preventDefault();
    action();
  }
}
