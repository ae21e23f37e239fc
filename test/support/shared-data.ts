/**
 * Official data of the tasks, which no commit holds: `shared/data` beside the checkout, or the folder that
 * `PERDURE_SHARED_DATA` names.
 */
import { join, resolve } from 'node:path'

const folder = process.env.PERDURE_SHARED_DATA ?? resolve(import.meta.dirname, '../../../shared/data')

/** Where a task's data lies if it is there. */
export function sharedData(...path: readonly string[]): string {
  return join(folder, ...path)
}
