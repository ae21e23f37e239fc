/**
 * The converter of failures where payloads are encrypted: messages and stacks become payloads too.
 *
 * Invariants
 * - Nothing of a failure but its type is in a history in clear text.
 */
import { DefaultFailureConverter } from '@temporalio/common'

/** The name under which the SDK looks for it. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true })
