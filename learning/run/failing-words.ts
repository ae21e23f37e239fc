/** Words for work that a run retries, the same in the terminal and on the page. */

/** Activities as a person knows them. */
const names: Readonly<Record<string, string>> = {
  preparePolicy: 'preparing the policy',
  imitateDemonstrations: 'the warm start',
  updatePolicy: 'the update',
  publishVersion: 'publishing a version',
  restoreVersion: 'going back to a version',
  recordEnd: 'recording the end',
  playTurns: 'turns of an episode',
  sampleAction: 'sampling an action',
  openEnvironment: 'opening an environment',
  stepEnvironment: 'a step of an environment',
  sealTrajectory: 'storing an episode',
  recordGroup: 'storing a group',
  environment: 'an environment',
  judge: 'a question to the judge',
  user: 'a question to the simulated user',
}

/** @example failingWords({ work: 'updatePolicy', attempt: 2, reason: 'no GPU' }) // 'the update failed in attempt 2 and is tried again: no GPU' */
export function failingWords({
  work,
  attempt,
  reason,
}: {
  readonly work: string
  readonly attempt: number
  readonly reason: string
}): string {
  if (attempt === 0) return `waiting: ${reason}`
  return `${names[work] ?? work} failed in attempt ${attempt} and is tried again: ${reason}`
}

/** Words for instances that could not be played. */
export function leftOutWords({ count, reason }: { readonly count: number; readonly reason: string }): string {
  return `${count} ${count === 1 ? 'instance is' : 'instances are'} left out, the latest because ${reason}`
}
