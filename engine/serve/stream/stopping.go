package stream

import "context"

type stoppingKey struct{}

// WithStopping returns a context for the requests of a server. The server closes stopping when it
// stops.
func WithStopping(ctx context.Context, stopping <-chan struct{}) context.Context {
	return context.WithValue(ctx, stoppingKey{}, stopping)
}

// Stopping returns a channel that is closed when the server of a request stops, or nil if the context
// is not of such a server. An answer that lasts as long as its client likes must end then: the server
// waits for it.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping
}
