// The live page: its connection to the server, the planner's panel, and the run as a file.

const AGAIN_MS = 1000; // between two attempts to connect
const RESPONSE_MS = 5000; // after which the page shows that there was no response
const GOING_AWAY = 1001; // how the server closes connections at its end
const RECORD_BEGINS = '</div>\n<script type="module">'; // in the page without a record
const PIECE = 3 * 2 ** 24; // bytes of the record in one element, as in page.py

class Live {
  constructor(page, path) {
    this.page = page;
    this.path = path;
    this.received = []; // the chunks of the record
    this.buildPanel();
    this.connect();
  }

  // -------------------------------------------------------------------------------------------------- connection
  // Connects, and connects again after a second when the connection ends. The page keeps its tick meanwhile, and
  // reloads when a new server or a new record sends its first message.
  connect() {
    const socket = new WebSocket(this.address(this.path));
    const waiting = [];
    socket.binaryType = 'arraybuffer';
    let isIn = false; // the server may have too many pages
    socket.onmessage = ({ data }) => {
      if (!isIn && this.page.record.head.kind) location.reload();
      if (!isIn) this.show(true);
      isIn = true;
      if (typeof data === 'string') this.take(JSON.parse(data));
      else {
        this.received.push(data);
        if (waiting.push(new Uint8Array(data, 4)) === 1) this.taking = this.page.takeIn(waiting).catch((error) => this.page.fail(error));
      }
    };
    socket.onclose = ({ code, reason }) => {
      this.take({ input: false });
      if (code === GOING_AWAY) this.end();
      this.show(false, reason);
      setTimeout(() => this.connect(), AGAIN_MS);
    };
    this.socket = socket;
  }

  // The run has ended: nothing follows the ticks that were received last.
  async end() {
    this.hasEnded = true;
    await this.taking;
    if (this.page.isLive) this.page.setLive(false);
  }

  address(path) {
    const url = new URL(path, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    return url;
  }

  // Shows whether the page is connected. The end of a run is no error; the page waits for the next run.
  show(isConnected, reason = '') {
    const { record } = this.page;
    this.reason = isConnected ? '' : reason || this.reason;
    $('live').textContent = isConnected ? 'Live' : this.hasEnded ? 'Ended' : 'Not connected';
    $('live').title = this.reason;
    this.ending.hidden = isConnected || !record.ticks;
    this.ending.firstChild.textContent = this.reason || 'Not connected: the page connects again by itself.';
    if (!record.ticks) $('message').textContent = this.reason || NOTHING_YET;
    if (isConnected && !this.template) this.fetchTemplate().catch((error) => this.page.fail(error));
  }

  // Takes a message of the server: whether it accepts input, the planner's parameters, or a response.
  take({ input, planner, response, ok }) {
    if (input !== undefined) {
      this.page.controls.setTools(input);
      this.panel.hidden = !input;
    }
    if (planner !== undefined) this.showPlanner(planner);
    if (response !== undefined) this.showResponse(response, ok);
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  // -------------------------------------------------------------------------------------------------- planner
  buildPanel() {
    const panel = this.panel = document.createElement('fieldset');
    panel.id = 'planner';
    panel.hidden = true;
    this.algorithm = document.createElement('select');
    this.weight = Object.assign(document.createElement('input'), { type: 'number', step: 'any' });
    const cancel = element('button', 'Cancel the goal');
    cancel.type = 'button';
    this.response = document.createElement('output');
    panel.append(element('legend', 'Planner'), labelled('Algorithm', this.algorithm), labelled('Weight', this.weight), cancel, this.response);
    this.algorithm.addEventListener('change', () => this.ask({ set: { algorithm: this.algorithm.value } }));
    this.weight.addEventListener('change', () => {
      if (this.weight.value) this.ask({ set: { weight: Number(this.weight.value) } });
      else this.showPlanner(this.planner);
    });
    cancel.addEventListener('click', () => this.ask({ cancel: true }));
    panel.addEventListener('keydown', (event) => event.stopPropagation()); // its keys are not those of the page
    const ending = this.ending = element('div', '', 'ending');
    ending.hidden = true;
    ending.setAttribute('role', 'status');
    ending.append(element('p', ''), this.saveButton());
    document.querySelector('aside').prepend(panel);
    document.querySelector('.stage').append(ending);
    document.querySelector('.buttons').insertBefore(this.saveButton(), $('clock'));
  }

  saveButton() {
    const button = element('button', 'Save', 'save');
    button.type = 'button';
    button.title = 'Save this run: one HTML file that replays it';
    button.setAttribute('aria-label', 'Save this run');
    button.addEventListener('click', () => this.page.attempt(() => this.save()));
    return button;
  }

  // Sends a request to which the planner responds.
  ask(message) {
    this.showResponse('…', true);
    this.send(message);
    this.noResponse = setTimeout(() => this.showResponse('The planner has not responded.', false), RESPONSE_MS);
  }

  showResponse(text, ok) {
    clearTimeout(this.noResponse);
    this.response.textContent = text;
    this.response.classList.toggle('refused', !ok);
    if (!ok) this.showPlanner(this.planner); // in place of a refused value
  }

  // planner: its algorithm, its weight, and the names of all algorithms with whether they take a weight; null: none.
  showPlanner(planner) {
    this.planner = planner;
    for (const input of [this.algorithm, this.weight]) input.disabled = !planner;
    if (!planner) return;
    if (!this.algorithm.options.length) this.algorithm.append(...Object.keys(planner.algorithms).map((name) => new Option(name)));
    this.algorithm.value = planner.algorithm;
    this.weight.value = planner.weight;
    this.weight.disabled = !planner.algorithms[planner.algorithm];
  }

  // -------------------------------------------------------------------------------------------------- saving
  // The page without a record: fetched while there is a server, for the time when there is none.
  async fetchTemplate() {
    const page = await fetch(this.path.replace('stream', 'empty.html'));
    if (!page.ok) throw new Error(`The server does not give the page to save (${page.status}).`);
    this.template = await page.text();
  }

  // One HTML file with the record so far.
  file() {
    const size = this.received.reduce((sum, data) => sum + data.byteLength, MAGIC.length);
    const record = new Uint8Array(size);
    record.set(MAGIC);
    let at = MAGIC.length;
    for (const data of this.received) {
      record.set(new Uint8Array(data), at);
      at += data.byteLength;
    }
    const elements = [];
    for (at = 0; at < size; at += PIECE) {
      elements.push(`<script type="application/octet-stream">${toBase64(record.subarray(at, at + PIECE))}<\/script>\n`);
    }
    const place = this.template.indexOf(RECORD_BEGINS);
    return new Blob([this.template.slice(0, place), ...elements, this.template.slice(place)], { type: 'text/html' });
  }

  save() {
    if (!this.template || !this.received.length) throw new Error('There is nothing to save yet.');
    const link = document.createElement('a');
    link.href = URL.createObjectURL(this.file());
    link.download = `${document.title.replace(/[^\w.-]+/g, '_') || 'run'}.html`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }
}

function labelled(name, input) {
  const label = element('label', name);
  label.append(input);
  return label;
}

function toBase64(bytes) {
  if (bytes.toBase64) return bytes.toBase64();
  const letters = [];
  for (let at = 0; at < bytes.length; at += 3 * 2 ** 13) letters.push(btoa(String.fromCharCode(...bytes.subarray(at, at + 3 * 2 ** 13))));
  return letters.join('');
}
