-- Quilt: pull a thread around bare cloth, and it becomes yours. Snip the threads of others before they are back home.
--
-- The world holds everything that players see. Tables of this file hold the rest, as plain data, so that a running match
-- keeps its state when this file is edited.

local cloth = require("quilt.cloth")
local bots = require("quilt.bots")

local TICK_HZ = 20
local SPEED = 9 -- Cells per second. The page predicts with the value that it receives.
local TURN = 4.5 -- Radians per second.
local SPOOL = 60 -- Points of a thread. A needle that has used them up has no thread left.
local POINT_GAP = 1.5 -- Distance between points.
local SEATS = 24
local NEEDLES_MIN = 8 -- Bots fill up the room to this many needles.
local HOME_RADIUS = 2
local WAIT_SECONDS = 2.5 -- From a snip to the next needle.
local ROUND_SECONDS = 150
local BREAK_SECONDS = 9

local EDGE = 0.5
local SECONDS = 1 / TICK_HZ

local function length(x, y)
	return math.sqrt(x * x + y * y)
end

-- Shortest turn from one angle to another.
local function turn_between(from, to)
	return (to - from + math.pi) % (2 * math.pi) - math.pi
end

local function announce(seat, reason, by)
	aether.world_broadcast("Snipped", { seat = seat.number, by = if by then by.number else 0, reason = reason })
end

-- Removes the thread of a needle from the cloth.
local function drop_thread(state, seat)
	for _, cell in seat.trail do
		if state.threads[cell] == seat.number then
			state.threads[cell] = nil
		end
	end
	seat.trail, seat.points, seat.is_out = {}, {}, false
	if seat.needle then
		aether.world_set(seat.needle, "Thread", "points", {})
	end
end

-- Takes the needle of a seat out of the game, with its cloth.
local function unravel(state, seat, reason, by)
	drop_thread(state, seat)
	aether.world_despawn(seat.needle)
	seat.needle = nil
	seat.wait = math.ceil(WAIT_SECONDS * TICK_HZ)
	cloth.release(state, seat)
	if by and by ~= seat then
		by.snips = math.min(by.snips + 1, 255)
	end
	announce(seat, reason, by)
end

-- Spawns the needle of a seat on a piece of cloth of its own.
local function thread_needle(state, seat)
	local x, y = cloth.find_home(state)
	cloth.lay_home(state, seat, x, y, HOME_RADIUS)
	local heading = math.random() * 2 * math.pi
	seat.needle = aether.world_spawn({
		Needle = { position = { x, y }, heading = heading, seat = seat.number },
		Thread = { points = {} },
	})
	seat.trail, seat.points, seat.is_out, seat.plan = {}, {}, false, nil
	seat.aim, seat.cell = heading, cloth.cell_at(x, y)
	if seat.player then
		aether.world_possess(seat.player, seat.needle)
	end
end

-- Takes the enclosed cloth when a needle comes home.
local function sew(state, seat)
	local trail = seat.trail
	drop_thread(state, seat)
	local gained = cloth.enclose(state, seat, trail)
	if gained > 0 then
		aether.world_broadcast("Sewn", { seat = seat.number, cells = gained })
	end
	for number = 1, SEATS do
		local other = state.seats[number]
		if other and other ~= seat and other.needle and other.cells == 0 then
			unravel(state, other, "covered", seat)
		end
	end
end

-- Handles the arrival of a needle in another cell.
local function enter(state, seat, cell)
	seat.cell = cell
	if state.phase ~= "sewing" then
		return
	end
	local owner_of_thread = state.threads[cell]
	if owner_of_thread and owner_of_thread ~= seat.number then
		unravel(state, state.seats[owner_of_thread], "snipped", seat)
	end
	if cloth.owner(state, cell) == seat.number then
		if seat.is_out then
			sew(state, seat)
		end
	elseif not state.threads[cell] then
		seat.is_out = true
		state.threads[cell] = seat.number
		table.insert(seat.trail, cell)
	end
end

-- Adds a point to the thread when the needle is far enough from the last one.
local function pull_thread(state, seat, x, y)
	local points = seat.points
	local last = points[#points]
	if last and length(x - last[1], y - last[2]) < POINT_GAP then
		return
	end
	if #points >= SPOOL then
		return unravel(state, seat, "spool", nil)
	end
	table.insert(points, { x, y })
	aether.world_set(seat.needle, "Thread", "points", points)
end

-- Moves a needle by one tick. The page has the same rule: see web/src/quilt/rules.ts.
local function step(state, seat, aim)
	local needle = seat.needle
	local x, y = aether.world_get(needle, "Needle", "position")
	local heading = aether.world_get(needle, "Needle", "heading")
	local turn = TURN * SECONDS
	heading += math.clamp(turn_between(heading, aim), -turn, turn)
	local to_x = math.clamp(x + math.cos(heading) * SPEED * SECONDS, EDGE, cloth.WIDTH - EDGE)
	local to_y = math.clamp(y + math.sin(heading) * SPEED * SECONDS, EDGE, cloth.HEIGHT - EDGE)
	aether.world_set(needle, "Needle", "position", to_x, to_y)
	aether.world_set(needle, "Needle", "heading", heading % (2 * math.pi))
	local cell = cloth.cell_at(to_x, to_y)
	if cell ~= seat.cell then
		enter(state, seat, cell)
	end
	if seat.needle and seat.is_out then
		pull_thread(state, seat, to_x, to_y)
	end
end

-- Returns the first free seat; bots make room for players.
local function free_seat(state)
	for number = 1, SEATS do
		local seat = state.seats[number]
		if not seat or seat.is_bot then
			return number, seat
		end
	end
	return nil, nil
end

local function leave_seat(state, seat)
	if seat.needle then
		unravel(state, seat, "left", nil)
	end
	aether.world_despawn(seat.entity)
	state.seats[seat.number] = nil
end

local function take_seat(state, number, name, player)
	local seat = {
		number = number,
		name = name,
		player = player,
		is_bot = player == nil,
		cells = 0,
		snips = 0,
		wait = 0,
		trail = {},
		points = {},
		is_out = false,
		aim = 0,
	}
	seat.entity = aether.world_spawn({ Seat = { seat = number, name = string.sub(name, 1, 24), is_bot = seat.is_bot } })
	state.seats[number] = seat
	return seat
end

local function count(state, is_bot)
	local total = 0
	for _, seat in state.seats do
		total += if seat.is_bot == is_bot then 1 else 0
	end
	return total
end

-- Keeps the room full of needles: as many bots as players are missing.
local function balance_bots(state)
	local wanted = math.max(0, NEEDLES_MIN - count(state, false))
	local present = count(state, true)
	for number = 1, SEATS do
		if present < wanted and not state.seats[number] then
			take_seat(state, number, bots.NAMES[number % #bots.NAMES + 1], nil)
			present += 1
		end
	end
	for number = SEATS, 1, -1 do
		local seat = state.seats[number]
		if present > wanted and seat and seat.is_bot then
			leave_seat(state, seat)
			present -= 1
		end
	end
end

local function write_round(state)
	aether.world_set(state.round, "Round", {
		phase = state.phase,
		seconds = math.max(0, math.ceil(state.ticks_left / TICK_HZ)),
		winner = state.winner,
		speed = SPEED,
		turn = TURN,
	})
end

local function leader(state)
	local best = nil
	for number = 1, SEATS do
		local seat = state.seats[number]
		if seat and (not best or seat.cells > best.cells) then
			best = seat
		end
	end
	return best
end

-- Begins the next phase: a break after a round, a bare cloth after a break.
local function change_phase(state)
	if state.phase == "sewing" then
		local winner = leader(state)
		state.phase, state.ticks_left = "finished", BREAK_SECONDS * TICK_HZ
		state.winner = if winner then winner.number else 0
		for _, seat in state.seats do
			drop_thread(state, seat)
		end
		return
	end
	state.phase, state.ticks_left, state.winner = "sewing", ROUND_SECONDS * TICK_HZ, 0
	cloth.clear(state)
	for number = 1, SEATS do
		local seat = state.seats[number]
		if seat then
			seat.cells, seat.snips, seat.wait = 0, 0, 0
			if seat.needle then
				aether.world_despawn(seat.needle)
				seat.needle = nil
			end
		end
	end
end

local function write_seats(state)
	for _, seat in state.seats do
		aether.world_set(seat.entity, "Seat", { cells = seat.cells, snips = seat.snips, needle = seat.needle or 0 })
	end
end

local function match_init(_context, _params)
	local state = { seats = {}, players = {}, threads = {}, phase = "sewing", winner = 0 }
	state.ticks_left = ROUND_SECONDS * TICK_HZ
	state.round = aether.world_spawn({ Round = {} })
	cloth.lay_out(state)
	balance_bots(state)
	write_round(state)
	return { state = state, tick_rate = TICK_HZ, label = "quilt" }
end

local function match_join_attempt(_context, state, _presences)
	local number = free_seat(state)
	return state, number ~= nil, "All seats are taken. Try again in a moment."
end

local function match_join(_context, state, presences)
	for _, presence in presences do
		local number, bot = free_seat(state)
		if number then
			if bot then
				leave_seat(state, bot)
			end
			local name = aether.world_player_name(presence.player) or presence.username
			state.players[presence.player] = take_seat(state, number, name, presence.player).number
		end
	end
	return state
end

local function match_leave(_context, state, presences)
	for _, presence in presences do
		local number = state.players[presence.player]
		if number then
			leave_seat(state, state.seats[number])
			state.players[presence.player] = nil
		end
	end
	return state
end

local function match_input(_context, state, player, input)
	local seat = state.seats[state.players[player]]
	if seat and seat.needle then
		step(state, seat, input.aim)
	end
end

local function match_loop(_context, state, tick, _messages)
	state.ticks_left -= 1
	if state.ticks_left <= 0 then
		change_phase(state)
	end
	balance_bots(state)
	local threaded = false
	for number = 1, SEATS do
		local seat = state.seats[number]
		if seat and not seat.needle then
			seat.wait -= 1
			-- One in a tick: the search for a home takes a while.
			if seat.wait <= 0 and not threaded then
				thread_needle(state, seat)
				threaded = true
			end
		elseif seat and seat.is_bot then
			step(state, seat, bots.aim(state, seat))
		end
	end
	cloth.write(state)
	if tick % 5 == 0 then
		write_seats(state)
		write_round(state)
	end
	return state
end

aether.register_match("quilt", {
	schema = {
		components = {
			Needle = {
				channel = "needles",
				position = { "vec2", range = { 0, cloth.WIDTH }, step = 1 / 64, position = true },
				heading = { "angle", bits = 12 },
				seat = { "u8" },
			},
			Thread = { channel = "threads", points = { "list", max = SPOOL, of = { "vec2", range = { 0, cloth.WIDTH }, step = 1 / 8 } } },
			Cloth = { channel = "cloth", patch = { "u8" }, cells = { "list", max = 64, of = { "int", range = { 0, SEATS } } } },
			Seat = {
				channel = "seats",
				seat = { "u8" },
				name = { "text", max = 24 },
				is_bot = { "bool" },
				cells = { "u16" },
				snips = { "u8" },
				needle = { "entity" },
			},
			Round = {
				channel = "round",
				phase = { "choice", of = { "sewing", "finished" } },
				seconds = { "u8" },
				winner = { "u8" },
				speed = { "number", range = { 0, 40 }, step = 0.01 },
				turn = { "number", range = { 0, 20 }, step = 0.01 },
			},
		},
		input = { aim = { "angle", bits = 12 } },
		events = {
			Snipped = {
				channel = "quilt",
				seat = { "u8" },
				by = { "u8" },
				reason = { "choice", of = { "snipped", "spool", "covered", "left" } },
			},
			Sewn = { channel = "quilt", seat = { "u8" }, cells = { "u16" } },
		},
	},
	players_max = SEATS,
	entities_max = 400,
	bounds = { 0, cloth.WIDTH },
	interest = 40,
	snapshot_hz = 20,
	resume_seconds = 10,
	match_init = match_init,
	match_join_attempt = match_join_attempt,
	match_join = match_join,
	match_leave = match_leave,
	match_input = match_input,
	match_loop = match_loop,
})
