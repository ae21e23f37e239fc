/** What keeps a folder of official data from use, with what to do. */
import { EnvironmentFault } from './environment.ts'

/** For the `catch` of what reads the folder. @throws EnvironmentFault `bad_data` */
export function unreadableFolder(task: string, dir: string): (cause: unknown) => never {
  return (cause) => {
    const reason = `${task} data: folder ${dir} cannot be read: give an existing folder`
    throw new EnvironmentFault('bad_data', reason, { cause })
  }
}

/** The fault of a folder in which nothing can be used. @param warnings of what was left out */
export function emptyFolder(
  task: string,
  dir: string,
  { what, expected, warnings }: EmptyFolder,
): EnvironmentFault {
  const reasons = warnings.length === 0 ? '' : `: ${warnings.slice(0, 3).join('; ')}`
  return new EnvironmentFault(
    'bad_data',
    `${task} data: ${dir} holds no ${what}; expected ${expected}${reasons}`,
  )
}

interface EmptyFolder {
  /** The task's word for instances, such as `games`. */
  readonly what: string
  /** The files that such a folder has. */
  readonly expected: string
  readonly warnings: readonly string[]
}
