/** Places of experiment trackers: a folder of this machine, or a server by its address. */

/** @example isServerAddress('http://127.0.0.1:5000') // true, and of 'mlruns' false */
export function isServerAddress(place: string): boolean {
  return /^https?:\/\//i.test(place)
}
