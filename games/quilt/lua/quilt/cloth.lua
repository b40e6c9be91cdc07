-- The cloth: a grid of cells, each bare or of one seat. The world has it in patches of 8 by 8 cells, which every player
-- sees. The grid of this file is a copy; it is read back from the world when the module is loaded anew.

local cloth = {}

cloth.WIDTH = 96
cloth.HEIGHT = 64

local PATCH = 8
local PATCHES_WIDE = cloth.WIDTH // PATCH
local PATCHES = PATCHES_WIDE * (cloth.HEIGHT // PATCH)
local CELLS = cloth.WIDTH * cloth.HEIGHT
local HOME_TRIES = 8
local HOME_SIGHT = 6 -- Cells around a home that should be bare.

local grid: { number }? = nil
local dirty = {}

-- Returns the cell, from 1, of a place in a patch.
local function cell_of(patch, place)
	local x = (patch % PATCHES_WIDE) * PATCH + place % PATCH
	local y = (patch // PATCHES_WIDE) * PATCH + place // PATCH
	return y * cloth.WIDTH + x + 1
end

local function patch_of(cell)
	local x, y = (cell - 1) % cloth.WIDTH, (cell - 1) // cloth.WIDTH
	return (y // PATCH) * PATCHES_WIDE + x // PATCH
end

local function cells(state): { number }
	if not grid then
		local read = table.create(CELLS, 0)
		for patch, id in state.patches do
			for place, owner in aether.world_get(id, "Cloth", "cells") do
				read[cell_of(patch - 1, place - 1)] = owner
			end
		end
		grid = read
	end
	return grid :: { number }
end

-- Gives a cell to a seat, or makes it bare with 0.
local function claim(state, cell, number)
	local all = cells(state)
	local before = all[cell]
	if before == number then
		return false
	end
	local former, seat = state.seats[before], state.seats[number]
	if former then
		former.cells -= 1
	end
	if seat then
		seat.cells += 1
	end
	all[cell] = number
	dirty[patch_of(cell)] = true
	return true
end

-- Creates the patches.
function cloth.lay_out(state)
	state.patches = {}
	local bare = table.create(PATCH * PATCH, 0)
	for patch = 0, PATCHES - 1 do
		table.insert(state.patches, aether.world_spawn({ Cloth = { patch = patch, cells = bare } }))
	end
	grid = table.create(CELLS, 0)
end

function cloth.clear(state)
	for cell = 1, CELLS do
		claim(state, cell, 0)
	end
end

-- Writes the changed patches to the world.
function cloth.write(state)
	local all = cells(state)
	for patch in dirty do
		local values = table.create(PATCH * PATCH, 0)
		for place = 0, PATCH * PATCH - 1 do
			values[place + 1] = all[cell_of(patch, place)]
		end
		aether.world_set(state.patches[patch + 1], "Cloth", "cells", values)
	end
	table.clear(dirty)
end

function cloth.cell_at(x, y)
	return math.floor(y) * cloth.WIDTH + math.floor(x) + 1
end

-- Returns the middle of a cell.
function cloth.middle_of(cell)
	return (cell - 1) % cloth.WIDTH + 0.5, (cell - 1) // cloth.WIDTH + 0.5
end

function cloth.owner(state, cell)
	return cells(state)[cell]
end

-- Makes all cells of a seat bare.
function cloth.release(state, seat)
	if seat.cells == 0 then
		return
	end
	for cell, owner in cells(state) do
		if owner == seat.number then
			claim(state, cell, 0)
		end
	end
end

-- Returns the place, of several random ones, with the fewest cells and threads around it. It looks at every third cell.
function cloth.find_home(state)
	local all = cells(state)
	local best_x, best_y, best = 0, 0, math.huge
	for _ = 1, HOME_TRIES do
		local x = math.random(HOME_SIGHT, cloth.WIDTH - HOME_SIGHT - 1)
		local y = math.random(HOME_SIGHT, cloth.HEIGHT - HOME_SIGHT - 1)
		local taken = 0
		for row = y - HOME_SIGHT, y + HOME_SIGHT, 3 do
			for cell = row * cloth.WIDTH + x - HOME_SIGHT + 1, row * cloth.WIDTH + x + HOME_SIGHT + 1, 3 do
				taken += (if all[cell] ~= 0 then 1 else 0) + (if state.threads[cell] then 4 else 0)
			end
		end
		if taken < best then
			best_x, best_y, best = x, y, taken
		end
	end
	return best_x + 0.5, best_y + 0.5
end

function cloth.lay_home(state, seat, x, y, radius)
	for dy = -radius, radius do
		for dx = -radius, radius do
			claim(state, cloth.cell_at(x + dx, y + dy), seat.number)
		end
	end
end

-- Returns the box around the cells of a seat: left, top, right and bottom, from 0.
local function box_of(all, number)
	local left, top, right, bottom = cloth.WIDTH, cloth.HEIGHT, 0, 0
	for cell, owner in all do
		if owner == number then
			local x, y = (cell - 1) % cloth.WIDTH, (cell - 1) // cloth.WIDTH
			left, top = math.min(left, x), math.min(top, y)
			right, bottom = math.max(right, x), math.max(bottom, y)
		end
	end
	return left, top, right, bottom
end

-- Gives the cells of a thread, and all that it encloses with the cloth of the seat, to the seat. Returns their number.
function cloth.enclose(state, seat, trail)
	local all, number = cells(state), seat.number
	local gained = 0
	for _, cell in trail do
		gained += if claim(state, cell, number) then 1 else 0
	end
	-- Everything that the border of the box around the cloth reaches without crossing the cloth is outside.
	local width = cloth.WIDTH
	local left, top, right, bottom = box_of(all, number)
	local outside, open = {}, {}
	local function visit(cell)
		if not outside[cell] and all[cell] ~= number then
			outside[cell] = true
			table.insert(open, cell)
		end
	end
	for x = left, right do
		visit(top * width + x + 1)
		visit(bottom * width + x + 1)
	end
	for y = top, bottom do
		visit(y * width + left + 1)
		visit(y * width + right + 1)
	end
	while #open > 0 do
		local cell = table.remove(open) :: number
		local x, y = (cell - 1) % width, (cell - 1) // width
		if x > left then
			visit(cell - 1)
		end
		if x < right then
			visit(cell + 1)
		end
		if y > top then
			visit(cell - width)
		end
		if y < bottom then
			visit(cell + width)
		end
	end
	for y = top, bottom do
		for cell = y * width + left + 1, y * width + right + 1 do
			if not outside[cell] and claim(state, cell, number) then
				gained += 1
			end
		end
	end
	return gained
end

return cloth
