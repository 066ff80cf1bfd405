/** Runs a few jobs at a time; pending jobs are started in the order of their rank. */

/** @typedef {{key: number, job: (signal: AbortSignal) => Promise<void>, control: AbortController}} Entry */

export class Queue {
  /**
   * @param {number} limit  jobs in flight at once
   * @param {(key: number) => number} rank  of a job's key; the lowest is started first
   */
  constructor(limit, rank) {
    this.limit = limit;
    this.rank = rank;
    /** @type {Set<Entry>} */
    this.waiting = new Set();
    this.running = 0;
    this.isHeld = false;
    /** Called when a job has ended. */
    this.onEnd = () => {};
  }

  /** @param {number} limit  jobs in flight at once from now on */
  widen(limit) {
    this.limit = limit;
    this.pump();
  }

  /**
   * @param {number} key
   * @param {(signal: AbortSignal) => Promise<void>} job  never rejects
   * @returns {() => void} drops the job, or aborts it if it is running
   */
  add(key, job) {
    const entry = { key, job, control: new AbortController() };
    this.waiting.add(entry);
    queueMicrotask(() => this.pump());
    return () => {
      this.waiting.delete(entry);
      entry.control.abort();
    };
  }

  /**
   * Start no job for `ms` milliseconds: while the reader scrolls fast, pages needed now are not needed later. A slow
   * browser takes longer than that for a frame, so it lasts at least until the next frame, which may hold it again.
   *
   * @param {number} ms
   */
  hold(ms) {
    this.isHeld = true;
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.timer = setTimeout(() => {
      this.frame = requestAnimationFrame(() => {
        this.timer = setTimeout(() => this.release());
      });
    }, ms);
  }

  release() {
    this.isHeld = false;
    this.pump();
  }

  pump() {
    while (this.running < this.limit && this.waiting.size > 0 && !this.isHeld) this.start(this.nearest());
  }

  /** @returns {Entry} */
  nearest() {
    let best = null;
    for (const entry of this.waiting) {
      if (best === null || this.rank(entry.key) < this.rank(best.key)) best = entry;
    }
    return best;
  }

  /** @param {Entry} entry */
  async start(entry) {
    this.waiting.delete(entry);
    this.running += 1;
    try {
      await entry.job(entry.control.signal);
    } finally {
      this.running -= 1;
      this.onEnd();
      this.pump();
    }
  }
}
