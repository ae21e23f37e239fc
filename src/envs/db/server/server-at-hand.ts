/**
 * The server that tests use: `PERDURE_TEST_MYSQL_URL`, or the local one where it lets root in.
 *
 * Invariants
 * - Where no server answers there is a reason to skip, in words.
 */
import { reasonOf } from '../../../reason.ts'
import { Administrator } from './administrator.ts'

const local = 'mysql://root@127.0.0.1:3306'

/** Its URL; undefined where none answers, which is said once. */
export async function serverAtHand(): Promise<string | undefined> {
  const url = process.env.PERDURE_TEST_MYSQL_URL ?? local
  try {
    const administrator = await Administrator.connect(new URL(url))
    await administrator.close()
    return url
  } catch (error) {
    console.warn(`tests with a database server are skipped: ${reasonOf(error)}`)
    return undefined
  }
}
