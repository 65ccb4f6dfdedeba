//go:build real

package main

// What serves the scripted Messages API.

import (
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
		sendJSON(w, http.StatusOK, fields{"input_tokens": 10})
	}
}

func (api *scriptedAPI) message(w http.ResponseWriter, r *http.Request, body []byte) {
	request, stream, err := parseRequest(body)
	if err != nil {
		sendError(w, http.StatusBadRequest, "invalid_request_error", "scripted API: "+err.Error())
		return
	}
	request.Header = r.Header.Clone()
	api.mu.Lock()
	api.asked = append(api.asked, request)
	n := len(api.asked)
	api.mu.Unlock()

	reply := api.aside
	if request.Kind != "side" {
		reply = api.answer(request)
		time.Sleep(reply.takes)
	}
	if reply.status != 0 {
		sendError(w, reply.status, reply.errorType, reply.text)
		return
	}
	reason := "end_turn"
	begun := fields{"type": "text", "text": ""}
	delta := fields{"type": "text_delta", "text": reply.text}
	if reply.thinks {
		begun = fields{"type": "thinking", "thinking": "", "signature": ""}
		delta = fields{"type": "thinking_delta", "thinking": reply.text}
	}
	if reply.tool != "" {
		id := fmt.Sprintf("toolu_%024d", n)
		begun = fields{"type": "tool_use", "id": id, "name": reply.tool, "input": fields{}}
		delta = fields{"type": "input_json_delta", "partial_json": reply.input}
		reason = "tool_use"
	}
	usage := fields{"input_tokens": 10 + reply.fresh, "cache_read_input_tokens": reply.tokens,
		"output_tokens": 1}
	message := fields{"id": fmt.Sprintf("msg_%024d", n), "type": "message", "role": "assistant",
		"usage": usage, "content": []any{}, "model": request.Model, "stop_reason": nil, "stop_sequence": nil}
	if !stream {
		message["content"] = []any{fields{"type": "text", "text": reply.text}}
		message["stop_reason"] = reason
		sendJSON(w, http.StatusOK, message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	index := 0
	send := func(event fields) {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], encodeJSON(event))
	}
	sendBlock := func(begun, delta fields) {
		send(fields{"type": "content_block_start", "index": index, "content_block": begun})
		if delta != nil {
			send(fields{"type": "content_block_delta", "index": index, "delta": delta})
		}
		send(fields{"type": "content_block_stop", "index": index})
		index++
	}
	send(fields{"type": "message_start", "message": message})
	if reply.advice != "" {
		id := fmt.Sprintf("srvtoolu_%024d", n)
		sendBlock(fields{"type": "server_tool_use", "id": id, "name": "advisor", "input": fields{}}, nil)
		advice := fields{"type": "advisor_result", "text": reply.advice}
		sendBlock(fields{"type": "advisor_tool_result", "tool_use_id": id, "content": advice}, nil)
	}
	sendBlock(begun, delta)
	end := fields{"stop_reason": reason, "stop_sequence": nil}
	send(fields{"type": "message_delta", "delta": end, "usage": fields{"output_tokens": 5 + reply.out}})
	send(fields{"type": "message_stop"})
}

type fields = map[string]any

func sendError(w http.ResponseWriter, status int, kind, message string) {
	sendJSON(w, status, fields{"type": "error", "error": fields{"type": kind, "message": message}})
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encodeJSON(value))
}
