/**
 * The limit of what a request may send, the same for every server.
 *
 * Invariants
 * - [BODY-LIMIT-1] A body beyond the limit is answered with the server's own refusal, whether its length was announced or not.
 */
import type { Context, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'

/** @param refusal the answer in the server's form, of status 413 */
export function limitedBody(maxSize: number, refusal: (context: Context) => Response): MiddlewareHandler {
  return bodyLimit({
    maxSize,
    onError(context) {
      const response = refusal(context)
      // The rest of the body is not read, so no other request can come by this connection.
      response.headers.set('connection', 'close')
      return response
    },
  })
}
