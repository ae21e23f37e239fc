/** Requests that are answered by an error, and failures as every form tells them in its own shape. */
import { Fault, type FaultOptions } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'
import { EngineFault } from '../engines/engine.ts'

/** A request that is answered by an error; `param` names what is wrong with it. */
export class RequestFault extends Fault<
  | 'bad_request'
  | 'too_large'
  | 'too_long'
  | 'unknown_model'
  | 'unknown_response'
  | 'unknown_path'
  | 'no_key'
  | 'forbidden'
  | 'ended'
> {
  override readonly name = 'RequestFault'
  readonly param: string | null

  constructor(
    kind: RequestFault['kind'],
    message: string,
    param: string | null = null,
    options?: FaultOptions,
  ) {
    super(kind, message, options)
    this.param = param
  }
}

/** A failure, before a form gives it its shape. */
export interface Failure {
  readonly status: number
  readonly message: string
  readonly param: string | null
  /** OpenAI's name of it, where it has one. */
  readonly code: string | null
}

const statuses: Record<RequestFault['kind'], Pick<Failure, 'status' | 'code'>> = {
  bad_request: { status: 400, code: null },
  too_large: { status: 413, code: null },
  too_long: { status: 400, code: 'context_length_exceeded' },
  unknown_model: { status: 404, code: 'model_not_found' },
  unknown_response: { status: 400, code: 'previous_response_not_found' },
  unknown_path: { status: 404, code: null },
  no_key: { status: 401, code: 'invalid_api_key' },
  forbidden: { status: 403, code: null },
  ended: { status: 409, code: 'episode_ended' },
}

export function failureOf(error: unknown): Failure {
  if (error instanceof EngineFault && error.kind === 'context_too_long')
    return failureOf(new RequestFault('too_long', error.message, 'messages'))
  if (error instanceof RequestFault)
    return { ...statuses[error.kind], message: error.message, param: error.param }
  return { status: 500, message: reasonOf(error), param: null, code: null }
}
