-- A match for two that passes messages on with the number of the turn.

local nk = require("nakama")

local M = {}

local function label(state)
    return nk.json_encode({ mode = state.mode, open = state.open })
end

function M.match_init(_, params)
    local state = { mode = params.mode or "duel", open = "yes", players = 0, turn = 0 }
    return state, 10, label(state)
end

function M.match_join_attempt(_, _, _, state, _, metadata)
    if state.players >= 2 then
        return state, false, "the duel is full"
    end
    if metadata.password == "wrong" then
        return state, false, "wrong password"
    end
    return state, true
end

function M.match_join(_, dispatcher, _, state, presences)
    state.players = state.players + #presences
    if state.players == 2 then
        state.open = "no"
        dispatcher.match_label_update(label(state))
        dispatcher.broadcast_message(1, nk.json_encode({ started = true }))
    end
    return state
end

function M.match_leave(_, _, _, state, presences)
    state.players = state.players - #presences
    return state
end

function M.match_loop(_, dispatcher, _, state, messages)
    for _, message in ipairs(messages) do
        state.turn = state.turn + 1
        local answer = { turn = state.turn, text = message.data, by = message.sender.user_id }
        dispatcher.broadcast_message(2, nk.json_encode(answer), nil, message.sender)
    end
    return state
end

function M.match_terminate(_, _, _, state)
    return state
end

function M.match_signal(_, _, _, state, data)
    return state, "players " .. state.players .. ", signal " .. data
end

return M
