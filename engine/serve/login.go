package serve

import (
	"encoding/json"
	"net/http"

	"varve.dev/varve/engine/serve/openapi"
)

var loginCall = openapi.Call{
	Path: "/api/v1/login", ID: "login", Summary: "How to log in",
	Description: "Says at which OpenID Connect issuer users get a token for the archive. The object is empty if the archive names none. " +
		"The call needs no token.",
	Answers: openapi.Answers(openapi.Object(map[string]openapi.Schema{
		"issuer?":   openapi.String("The URL of the issuer."),
		"clientID?": openapi.String("The ID of a public client."),
		"scopes?":   openapi.List(openapi.String("")),
		"audience?": openapi.String("The audience of an access token for the archive. Without it, the archive takes the ID token."),
	}), nil),
}

// registerLogin adds the call that says where users log in.
func (c *Config) registerLogin(mux *http.ServeMux) {
	text := []byte("{}")
	if login := c.Access.Login(); login != nil {
		var err error
		if text, err = json.Marshal(login); err != nil {
			panic("BUG: " + err.Error())
		}
	}
	text = append(text, '\n')
	loginCall.Register(mux, c.Now, func(w http.ResponseWriter, _ *http.Request, _ *openapi.Query) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // an error means that the client has disconnected
	})
}
