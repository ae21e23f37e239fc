/** The ranks of the PyTorch trainer as processes of this machine, for tests that signal them. */
import { readdirSync, readFileSync } from 'node:fs'

/** Variable that marks a test's ranks, in the environment of all that it starts. */
export const rankMark = 'PERDURE_TEST_RANKS'

export interface RankProcess {
  readonly pid: number
  readonly rank: number
  /** The process that started it: torchrun. */
  readonly launcher: number
}

/** Ranks that were started with a mark and have not ended. */
export function ranksOf(mark: string): readonly RankProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const environment = `\0${readFileSync(`/proc/${name}/environ`, 'latin1')}`
        const rank = /\0RANK=(\d+)\0/.exec(environment)?.[1]
        if (rank === undefined || !environment.includes(`\0${rankMark}=${mark}\0`)) return []
        const launcher = / [A-Z] (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'latin1'))?.[1]
        return [{ pid: Number(name), rank: Number(rank), launcher: Number(launcher) }]
      } catch {
        return [] // it ended meanwhile
      }
    })
}
