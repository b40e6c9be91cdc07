-- Bots: they sew loops beside their cloth, hurry home when a needle comes near, and snip threads that lie on their way.

local cloth = require("quilt.cloth")

local bots = {}

bots.NAMES = { "Bobbin", "Calico", "Gingham", "Tweed", "Paisley", "Velvet", "Flannel", "Selvage", "Denim", "Organza" }

local REACHED = 0.9 -- Distance at which a point of the plan counts as reached.
local DANGER = 7 -- Distance of another needle at which a bot goes home.
local TEMPTATION = 8 -- Distance of a thread at which a bot goes for it.
local BOLDNESS = 0.5 -- Share of the threads that a bot goes for.
local LOOP_MIN, LOOP_MAX = 4, 10

local function distance(x, y, to_x, to_y)
	return math.sqrt((x - to_x) ^ 2 + (y - to_y) ^ 2)
end

local function inside(x, y)
	return { math.clamp(x, 1, cloth.WIDTH - 1), math.clamp(y, 1, cloth.HEIGHT - 1) }
end

-- Plans a loop: out of the cloth, along it, and back to where the needle is now.
local function plan_loop(x, y)
	local angle = math.random() * 2 * math.pi
	local side = if math.random() < 0.5 then 1 else -1
	local out, along = math.random(LOOP_MIN, LOOP_MAX), math.random(LOOP_MIN, LOOP_MAX)
	local dx, dy = math.cos(angle), math.sin(angle)
	local corner = inside(x + dx * out, y + dy * out)
	local far = inside(corner[1] - dy * along * side, corner[2] + dx * along * side)
	local near = inside(x - dy * along * side, y + dx * along * side)
	return { corner, far, near, { x, y } }
end

-- Returns the nearest own cell on a coarse search, as a point.
local function find_cloth(state, seat, x, y)
	local best, best_x, best_y = math.huge, x, y
	for angle = 0, 15 do
		local dx, dy = math.cos(angle * math.pi / 8), math.sin(angle * math.pi / 8)
		for reach = 1, 24 do
			local point = inside(x + dx * reach, y + dy * reach)
			if reach >= best then
				break
			elseif cloth.owner(state, cloth.cell_at(point[1], point[2])) == seat.number then
				best, best_x, best_y = reach, point[1], point[2]
				break
			end
		end
	end
	return best_x, best_y, best
end

-- Returns the distance of the nearest other needle, and the nearest point of a thread.
local function look_around(state, seat, x, y)
	local danger, target, near = math.huge, nil, TEMPTATION
	for _, id in (aether.world_nearby(x, y, 14, "Needle")) do
		local number = aether.world_get(id, "Needle", "seat")
		local other = state.seats[number]
		if other and other ~= seat then
			local other_x, other_y = aether.world_get(id, "Needle", "position")
			danger = math.min(danger, distance(x, y, other_x, other_y))
			for _, point in other.points do
				local far = distance(x, y, point[1], point[2])
				if far < near then
					near, target = far, point
				end
			end
		end
	end
	return danger, target
end

-- Returns the direction in which a bot steers.
function bots.aim(state, seat)
	local x, y = aether.world_get(seat.needle, "Needle", "position")
	-- A bot decides a few times a second, each at other ticks.
	seat.thought = (seat.thought or seat.number % 4) - 1
	if seat.thought <= 0 then
		seat.thought = 4
		local danger, target = look_around(state, seat, x, y)
		if seat.is_out and danger < DANGER then
			local home_x, home_y, far = find_cloth(state, seat, x, y)
			seat.plan = if far < danger or not target then { { home_x, home_y } } else { target }
		elseif target and math.random() < BOLDNESS then
			seat.plan = { target }
		end
	end
	local plan = seat.plan
	if not plan or #plan == 0 then
		if seat.is_out then
			local home_x, home_y = find_cloth(state, seat, x, y)
			plan = { { home_x, home_y } }
		else
			plan = plan_loop(x, y)
		end
		seat.plan = plan
	end
	local goal = plan[1]
	if distance(x, y, goal[1], goal[2]) < REACHED then
		table.remove(plan, 1)
		goal = plan[1] or goal
	end
	return math.atan2(goal[2] - y, goal[1] - x)
end

return bots
