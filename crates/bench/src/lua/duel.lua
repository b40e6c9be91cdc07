-- The game of the benchmark: players send moves, and everybody gets all positions every tick.
local nk = require("nakama")

local duel = {}

function duel.match_init(context, params)
	return { players = {} }, 20, ""
end

function duel.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
	return state, true
end

function duel.match_join(context, dispatcher, tick, state, presences)
	for _, presence in ipairs(presences) do
		state.players[presence.user_id] = { x = 0, y = 0 }
	end
	return state
end

function duel.match_leave(context, dispatcher, tick, state, presences)
	for _, presence in ipairs(presences) do
		state.players[presence.user_id] = nil
	end
	return state
end

function duel.match_loop(context, dispatcher, tick, state, messages)
	for _, message in ipairs(messages) do
		local move = nk.json_decode(message.data)
		local player = state.players[message.sender.user_id]
		if player then
			player.x = math.clamp(player.x + move.x, -1000, 1000)
			player.y = math.clamp(player.y + move.y, -1000, 1000)
		end
	end
	dispatcher.broadcast_message(2, nk.json_encode(state.players))
	return state
end

function duel.match_terminate(context, dispatcher, tick, state, grace_seconds)
	return state
end

function duel.match_signal(context, dispatcher, tick, state, data)
	return state, data
end

return duel
