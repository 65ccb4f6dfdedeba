//go:build real

package main

// What serves the scripted Messages API.

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func init() {
	serveHTTP = func(t *testing.T, api *scriptedAPI) string {
		ended := make(chan struct{})
		handler := func(http.ResponseWriter, *http.Request) { <-ended }
		if api != nil {
			handler = api.serve
		}
		server := httptest.NewServer(http.HandlerFunc(handler))
		t.Cleanup(func() {
			close(ended)
			server.CloseClientConnections()
			server.Close()
		})
		return server.URL
	}
}

func (api *scriptedAPI) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch {
	case r.Method == http.MethodConnect || r.URL.IsAbs():
		http.Error(w, "no network in tests", http.StatusForbidden)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages":
		api.message(w, r, body)
	default: // the number is for /v1/messages/count_tokens
		sendJSON(w, http.StatusOK, map[string]any{"input_tokens": 10})
	}
}

func (api *scriptedAPI) message(w http.ResponseWriter, r *http.Request, body []byte) {
	request, stream, err := parseRequest(body, api.marker)
	if err != nil {
		sendJSON(w, http.StatusBadRequest, map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": "scripted API: " + err.Error()}})
		return
	}
	request.Header = r.Header.Clone()
	api.mu.Lock()
	api.asked = append(api.asked, request)
	api.replied++
	n := api.replied
	api.mu.Unlock()

	reply := api.aside
	if request.Kind != "side" {
		reply = api.answer(request)
		time.Sleep(reply.takes)
	}
	if reply.status != 0 {
		sendJSON(w, reply.status, map[string]any{"type": "error", "error": map[string]any{"type": reply.errorType, "message": reply.text}})
		return
	}
	block, begun, reason := map[string]any{"type": "text", "text": reply.text}, map[string]any{"type": "text", "text": ""}, "end_turn"
	delta := map[string]any{"type": "text_delta", "text": reply.text}
	if reply.thinks {
		block = map[string]any{"type": "thinking", "thinking": reply.text, "signature": "c2ln"}
		begun = map[string]any{"type": "thinking", "thinking": "", "signature": ""}
		delta = map[string]any{"type": "thinking_delta", "thinking": reply.text}
	}
	if reply.tool != "" {
		id := fmt.Sprintf("toolu_%024d", n)
		block = map[string]any{"type": "tool_use", "id": id, "name": reply.tool, "input": json.RawMessage(reply.input)}
		begun = map[string]any{"type": "tool_use", "id": id, "name": reply.tool, "input": map[string]any{}}
		delta, reason = map[string]any{"type": "input_json_delta", "partial_json": reply.input}, "tool_use"
	}
	message := map[string]any{"id": fmt.Sprintf("msg_%024d", n), "type": "message", "role": "assistant", "model": request.Model, "stop_sequence": nil}
	if !stream {
		message["content"], message["stop_reason"], message["usage"] = []any{block}, reason, map[string]any{"input_tokens": 10 + reply.tokens, "output_tokens": 5}
		sendJSON(w, http.StatusOK, message)
		return
	}
	message["content"], message["stop_reason"], message["usage"] = []any{}, nil, map[string]any{"input_tokens": 10 + reply.fresh, "cache_read_input_tokens": reply.tokens, "output_tokens": 1}
	w.Header().Set("Content-Type", "text/event-stream")
	index := 0
	send := func(event map[string]any) {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], encodeJSON(event))
	}
	sendBlock := func(begun, delta map[string]any) {
		send(map[string]any{"type": "content_block_start", "index": index, "content_block": begun})
		if delta != nil {
			send(map[string]any{"type": "content_block_delta", "index": index, "delta": delta})
		}
		send(map[string]any{"type": "content_block_stop", "index": index})
		index++
	}
	send(map[string]any{"type": "message_start", "message": message})
	if reply.advice != "" {
		id := fmt.Sprintf("srvtoolu_%024d", n)
		sendBlock(map[string]any{"type": "server_tool_use", "id": id, "name": "advisor", "input": map[string]any{}}, nil)
		sendBlock(map[string]any{"type": "advisor_tool_result", "tool_use_id": id,
			"content": map[string]any{"type": "advisor_result", "text": reply.advice}}, nil)
	}
	if !reply.isEmpty {
		sendBlock(begun, delta)
	}
	send(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": reason, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": 5 + reply.out}})
	send(map[string]any{"type": "message_stop"})
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encodeJSON(value))
}
