-- A turn-based match for two: three marks in a row win.

local nk = require("nakama")

local OP_START = 1
local OP_UPDATE = 2
local OP_DONE = 3
local OP_MOVE = 4
local OP_REJECTED = 5

local TICK_RATE = 10
local TURN_SECONDS = { [true] = 10, [false] = 30 }
local MAX_EMPTY_SECONDS = 30

local LINES = {
    { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 },
    { 1, 4, 7 }, { 2, 5, 8 }, { 3, 6, 9 },
    { 1, 5, 9 }, { 3, 5, 7 },
}

local M = {}

local function label_of(state)
    return nk.json_encode({ open = state.open and 1 or 0, fast = state.fast and 1 or 0, game = "tictactoe" })
end

local function count(presences)
    local number = 0
    for _ in pairs(presences) do
        number = number + 1
    end
    return number
end

local function winner_of(board)
    for _, line in ipairs(LINES) do
        local mark = board[line[1]]
        if mark ~= 0 and mark == board[line[2]] and mark == board[line[3]] then
            return mark
        end
    end
    return 0
end

local function is_full(board)
    for _, mark in ipairs(board) do
        if mark == 0 then
            return false
        end
    end
    return true
end

local function user_of(state, mark)
    for user_id, of_user in pairs(state.marks) do
        if of_user == mark then
            return user_id
        end
    end
    return nil
end

local function start_game(state, dispatcher)
    state.playing = true
    state.board = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }
    state.turn = 1
    state.deadline = TURN_SECONDS[state.fast] * TICK_RATE
    local mark = 1
    state.marks = {}
    for _, user_id in ipairs(state.order) do
        state.marks[user_id] = mark
        mark = mark + 1
    end
    dispatcher.broadcast_message(OP_START, nk.json_encode({ board = state.board, marks = state.marks, turn = 1 }))
end

local function end_game(state, dispatcher, winner)
    state.playing = false
    local user_id = winner > 0 and user_of(state, winner) or nil
    dispatcher.broadcast_message(OP_DONE, nk.json_encode({ board = state.board, winner = winner, user_id = user_id }))
    if user_id ~= nil then
        nk.leaderboard_record_write("tictactoe_wins", user_id, state.names[user_id], 1, 0, {}, nil)
    end
end

function M.match_init(_, params)
    local state = {
        fast = params.fast == true,
        open = true,
        playing = false,
        presences = {},
        names = {},
        order = {},
        marks = {},
        board = {},
        turn = 1,
        deadline = 0,
        empty_ticks = 0,
    }
    return state, TICK_RATE, label_of(state)
end

function M.match_join_attempt(_, _, _, state, presence, metadata)
    if state.presences[presence.user_id] ~= nil then
        return state, false, "already joined"
    end
    if count(state.presences) >= 2 then
        return state, false, "match full"
    end
    if metadata and metadata.spectator == "true" then
        return state, false, "no spectators"
    end
    return state, true
end

function M.match_join(_, dispatcher, _, state, presences)
    for _, presence in ipairs(presences) do
        state.presences[presence.user_id] = presence
        state.names[presence.user_id] = presence.username
        table.insert(state.order, presence.user_id)
    end
    state.empty_ticks = 0
    if count(state.presences) >= 2 and state.open then
        state.open = false
        dispatcher.match_label_update(label_of(state))
        start_game(state, dispatcher)
    end
    return state
end

function M.match_leave(_, dispatcher, _, state, presences)
    for _, presence in ipairs(presences) do
        state.presences[presence.user_id] = nil
        local mark = state.marks[presence.user_id]
        if state.playing and mark ~= nil then
            end_game(state, dispatcher, 3 - mark)
        end
    end
    return state
end

local function reject(dispatcher, message, reason)
    dispatcher.broadcast_message(OP_REJECTED, nk.json_encode({ reason = reason }), { message.sender })
end

local function move(state, dispatcher, message)
    local mark = state.marks[message.sender.user_id]
    local ok, request = pcall(nk.json_decode, message.data)
    if not state.playing then
        return reject(dispatcher, message, "no game")
    elseif mark ~= state.turn then
        return reject(dispatcher, message, "not your turn")
    elseif not ok or type(request.position) ~= "number" or state.board[request.position] ~= 0 then
        return reject(dispatcher, message, "not a free field")
    end
    state.board[request.position] = mark
    state.turn = 3 - mark
    state.deadline = TURN_SECONDS[state.fast] * TICK_RATE
    local winner = winner_of(state.board)
    if winner ~= 0 or is_full(state.board) then
        return end_game(state, dispatcher, winner)
    end
    dispatcher.broadcast_message(OP_UPDATE, nk.json_encode({ board = state.board, turn = state.turn }))
end

function M.match_loop(_, dispatcher, _, state, messages)
    if count(state.presences) == 0 then
        state.empty_ticks = state.empty_ticks + 1
        if state.empty_ticks > MAX_EMPTY_SECONDS * TICK_RATE then
            return nil
        end
    end
    for _, message in ipairs(messages) do
        if message.op_code == OP_MOVE then
            move(state, dispatcher, message)
        else
            reject(dispatcher, message, "unknown message")
        end
    end
    if state.playing then
        state.deadline = state.deadline - 1
        if state.deadline <= 0 then
            end_game(state, dispatcher, 3 - state.turn)
        end
    end
    return state
end

function M.match_terminate(_, _, _, state, _)
    return state
end

function M.match_signal(_, _, _, state, data)
    return state, nk.json_encode({ signal = data, playing = state.playing })
end

return M
