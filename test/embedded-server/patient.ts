/** A workflow for the test beside it: durable waiting and nothing else. */
import { sleep } from '@temporalio/workflow'

export async function patient(waits: number): Promise<number> {
  let waited = 0
  while (waited < waits) {
    await sleep('300 milliseconds')
    waited += 1
  }
  return waited
}
