// Exports from the page: the picture as PNG, the range as a WebM video, and the ticks as a CSV table.

const VIDEO_TYPES = ['video/webm;codecs=vp9', 'video/webm;codecs=vp8', 'video/webm'];
const VIDEO_FPS = 30;

class Export {
  constructor(page) {
    this.page = page;
    this.canvas = document.createElement('canvas'); // the picture: one map, or two side by side
    $('export').addEventListener('click', () => $('export-dialog').showModal());
    $('export-png').addEventListener('click', () => this.savePicture());
    $('export-csv').addEventListener('click', () => page.attempt(() => this.saveTable()));
    $('export-webm').addEventListener('click', () => page.attempt(() => this.startVideo()));
    $('recording').addEventListener('click', () => this.stopVideo());
    if (!this.videoType) {
      $('export-webm').disabled = true;
      $('export-webm').textContent = 'WebM: this browser cannot record it';
    }
  }

  get videoType() {
    if (!globalThis.MediaRecorder || !this.canvas.captureStream) return undefined;
    return VIDEO_TYPES.find((type) => MediaRecorder.isTypeSupported(type));
  }

  // Draws what the maps show now; the size stays the same during a video.
  draw() {
    const maps = [$('map'), ...(this.page.companion ? [this.page.companion.canvas] : [])];
    if (document.body.classList.contains('swapped')) maps.reverse();
    if (!this.video) {
      this.canvas.width = maps.reduce((sum, map) => sum + map.width, 0);
      this.canvas.height = Math.max(...maps.map((map) => map.height));
    }
    const context = this.canvas.getContext('2d', { alpha: false });
    let x = 0;
    for (const map of maps) {
      context.drawImage(map, x, 0);
      x += map.width;
    }
  }

  savePicture() {
    this.draw();
    this.canvas.toBlob((blob) => download(blob, `-${this.page.replay.tick}.png`), 'image/png');
    $('export-dialog').close();
  }

  saveTable() {
    const rows = this.rows();
    download(new Blob([rows.map((row) => `${row.map(quoted).join(',')}\n`).join('')], { type: 'text/csv' }), '.csv');
    $('export-dialog').close();
  }

  // A head and a row for each tick, as `tb_planner export run.tbrun run.csv` writes them; two runs have a column more.
  rows() {
    const { page, page: { companion } } = this;
    const unit = page.record.maps[0]?.facts.resolution_m ? 'm' : 'cells';
    const head = [
      'tick', 'time_s', 'status', 'tick_time_ms', 'expansions', 'open_size', `distance_to_go_${unit}`, 'route_moves', 'backtracking_moves', 'restarts',
      `x_${unit}`, `y_${unit}`, 'yaw_rad', `waypoint_x_${unit}`, `waypoint_y_${unit}`, `goal_x_${unit}`, `goal_y_${unit}`,
    ];
    if (!companion) return [head, ...rowsOf(page.record)];
    const named = (name, rows) => rows.map((row) => [name, ...row]);
    return [['run', ...head], ...named($('title').textContent, rowsOf(page.record)), ...named(companion.name, rowsOf(companion.record))];
  }

  // Plays the range, once, at the speed of the page, and records the picture of each frame.
  startVideo() {
    const { page } = this;
    $('export-dialog').close();
    page.pause();
    const [from, to] = page.range.limits;
    page.goTo(from);
    this.draw();
    const parts = [];
    this.video = new MediaRecorder(this.canvas.captureStream(VIDEO_FPS), { mimeType: this.videoType });
    this.video.ondataavailable = ({ data }) => parts.push(data);
    this.video.onstop = () => {
      this.video = undefined;
      $('recording').hidden = true;
      download(new Blob(parts, { type: 'video/webm' }), `-${from}-${to}.webm`);
    };
    this.isLooping = page.range.isLooping;
    page.range.isLooping = false;
    this.video.start(1000);
    $('recording').hidden = false;
    page.play();
  }

  stopVideo() {
    if (this.video?.state !== 'recording') return;
    this.page.range.isLooping = this.isLooping;
    this.page.pause();
    this.video.stop();
  }

  // Called in each frame of the page; the video ends when the page plays no more and shows its last tick.
  frame(isThere) {
    if (this.video?.state !== 'recording') return;
    this.draw();
    if (!this.page.isPlaying && isThere) this.stopVideo();
  }
}

function rowsOf(record) {
  const lengths = new Lengths(record);
  return Array.from({ length: record.ticks }, (_, tick) => {
    const value = (name) => record[name].values[tick];
    const flags = value('flags'), facts = record.map(tick)?.facts;
    const place = (x, y) => (facts?.origin ? toMetres(facts, x, y) : [x, y]).map((number) => number.toFixed(3));
    const goal = Record.at(record.goals, tick)?.goal;
    const restart = Record.at(record.restarts, tick);
    const toGo = lengths.toGo(tick).length;
    return [
      tick, value('time').toFixed(6), Record.at(record.statuses, tick)?.status || '', value('duration').toFixed(3),
      value('expansions'), value('openSize'), toGo === undefined ? '' : toGo.toFixed(3), value('left'), value('back'),
      restart?.tick === tick ? restart.restarts.join(' ') : '',
      ...(flags & HAS_POSE ? [...place(value('x'), value('y')), (value('yaw') + (facts?.origin?.[2] || 0)).toFixed(3)] : ['', '', '']),
      ...(flags & HAS_WAYPOINT ? place(value('waypointX'), value('waypointY')) : ['', '']),
      ...(goal ? place(...goal) : ['', '']),
    ];
  });
}

// A field of a table. Texts come from anywhere: none may begin a formula of a spreadsheet.
function quoted(value) {
  const text = typeof value === 'string' && Number.isNaN(Number(value)) ? value.replace(/^([=+\-@\t])/, "'$1") : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function download(blob, ending) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = `${document.title.replace(/[^\w.-]+/g, '_') || 'run'}${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
