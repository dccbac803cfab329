// Package sim is the kit that every simulated cloud is built with: clock, latency, token
// buckets, fault scripts and a call log. It knows HTTP, and no cloud.
//
// A simulator is an http.Handler with the state of a cloud. A [Front] stands before it and makes
// it behave like a cloud at the far end of a network. Clients reach it over a socket (the front
// is an http.Handler itself) or in process ([Front.Transport]); both go the same way. Requests and
// answers are held in memory whole: the kit is for APIs of small documents, not for streams.
//
// # What happens to a call
//
// In this order:
//
//  1. Latency: the request has been read whole, and waits on the front's clock. A client that
//     stops waiting here is logged with Status 0; its call was not done and has no number in the fault script.
//  2. Fault script: the call gets its number, and with it perhaps a fault. FaultKillBefore,
//     FaultError and FaultThrottle end the call here; it is not done.
//  3. Token bucket: a call over the limit is answered by Dialect.Throttled with Retry-After; it is not done.
//  4. Do: the handler runs to its end.
//  5. Lost reply: FaultLostReply and FaultKillAfter throw the answer away, whether it came from
//     the handler or from the token bucket.
//
// A client sees a lost reply as a broken connection: in process as an error that wraps
// [ErrBroken] and [syscall.ECONNRESET], over a socket as a connection closed with nothing written.
// Go's http.Transport repeats a GET or HEAD on its own when a connection that it used before
// breaks like this, so a read whose reply was lost may be seen twice in the log.
//
// # Generations
//
// A kill fault ends a generation: what was running when the client was killed. The function set
// by [Front.OnKill] is called once. From that moment every call of the generation sees a broken
// connection: those still waiting are not done, those being done lose their reply, and new ones
// are refused, until [Front.Revive] begins the next generation. A call that was refused never
// reached the cloud: it is neither logged, nor numbered, nor counted as injected.
package sim
