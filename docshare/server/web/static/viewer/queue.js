/** Runs a few jobs at a time; of those that wait, the one that matters most goes first. */

/** @typedef {{key: number, job: (signal: AbortSignal) => Promise<void>, control: AbortController}} Entry */

export class Queue {
  /**
   * @param {number} limit  jobs in flight at once
   * @param {(key: number) => number} rank  of a job's key; the lowest goes first
   */
  constructor(limit, rank) {
    this.limit = limit;
    this.rank = rank;
    /** @type {Set<Entry>} */
    this.waiting = new Set();
    this.running = 0;
    this.heldUntil = 0;
  }

  /**
   * @param {number} key
   * @param {(signal: AbortSignal) => Promise<void>} job  never rejects
   * @returns {() => void} forgets the job, or aborts it when it runs
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

  /** Start nothing for `ms` milliseconds: the reader is flying past, what is wanted now will not be wanted then. */
  hold(ms) {
    this.heldUntil = performance.now() + ms;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.pump(), ms + 1);
  }

  pump() {
    while (this.running < this.limit && this.waiting.size > 0 && performance.now() >= this.heldUntil) {
      this.start(this.nearest());
    }
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
      this.pump();
    }
  }
}
