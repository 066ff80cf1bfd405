/** The synthesized sound of a turning page: a short burst of filtered noise. */

const LOUD = 0.16;

/** @type {AudioContext | null} */
let audio = null;
/** @type {AudioBuffer | null} */
let noise = null;

/** @param {number} seconds  duration of the turn */
export function playTurnSound(seconds) {
  // Before the first input, browsers do not allow sound.
  if (!navigator.userActivation?.hasBeenActive) return;
  audio ??= new AudioContext();
  noise ??= makeNoise(audio);
  const source = new AudioBufferSourceNode(audio, { buffer: noise });
  const filter = new BiquadFilterNode(audio, { type: "bandpass", frequency: 1400, Q: 0.6 });
  const gain = new GainNode(audio, { gain: 0 });
  const now = audio.currentTime;
  filter.frequency.linearRampToValueAtTime(4200, now + seconds * 0.6);
  gain.gain.linearRampToValueAtTime(LOUD, now + seconds * 0.35);
  gain.gain.exponentialRampToValueAtTime(0.001, now + seconds);
  source.connect(filter).connect(gain).connect(audio.destination);
  source.start(now, Math.random(), seconds);
}

/** @param {AudioContext} context */
function makeNoise(context) {
  const buffer = context.createBuffer(1, context.sampleRate * 2.5, context.sampleRate);
  const samples = buffer.getChannelData(0);
  let last = 0;
  for (let at = 0; at < samples.length; at += 1) {
    // Paper crackles: some samples are louder than others.
    const grain = Math.random() < 0.004 ? 3 : 1;
    last = 0.4 * last + (Math.random() * 2 - 1) * grain * 0.6;
    samples[at] = last;
  }
  return buffer;
}
