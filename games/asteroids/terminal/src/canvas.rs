//! Canvas of braille characters: each has two columns and four rows of dots, which are about square.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

/// Dots of a character, by row and column.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// Character without dots.
const BLANK: u32 = 0x2800;
/// Longest line that is drawn, in dots: longer than the diagonal of any terminal.
const LINE_DOTS_MAX: f32 = 4_000.0;

/// Colour of a drawing, with its rank: a character has the colour of the highest rank in it.
#[derive(Clone, Copy, Debug)]
pub struct Ink {
    /// Colour.
    pub color: Color,
    /// Rank.
    pub rank: u8,
}

/// Canvas of braille characters.
pub struct Canvas {
    columns: usize,
    rows: usize,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy)]
struct Cell {
    dots: u8,
    color: Color,
    rank: u8,
}

impl Canvas {
    /// Creates an empty canvas for an area.
    pub fn new(area: Rect) -> Canvas {
        let (columns, rows) = (usize::from(area.width), usize::from(area.height));
        let empty = Cell { dots: 0, color: Color::Reset, rank: 0 };
        Canvas { columns, rows, cells: vec![empty; columns * rows] }
    }

    /// Width and height in dots.
    pub fn size(&self) -> [f32; 2] {
        [self.columns as f32 * 2.0, self.rows as f32 * 4.0]
    }

    /// Draws a dot. Positions outside are ignored.
    pub fn dot(&mut self, [x, y]: [f32; 2], ink: Ink) {
        if !(x >= 0.0 && y >= 0.0) {
            return;
        }
        let (x, y) = (x as usize, y as usize);
        if x >= self.columns * 2 || y >= self.rows * 4 {
            return;
        }
        let cell = &mut self.cells[y / 4 * self.columns + x / 2];
        cell.dots |= DOTS[y % 4][x % 2];
        if ink.rank >= cell.rank {
            (cell.color, cell.rank) = (ink.color, ink.rank);
        }
    }

    /// Draws a line.
    pub fn line(&mut self, from: [f32; 2], to: [f32; 2], ink: Ink) {
        let way = [to[0] - from[0], to[1] - from[1]];
        let steps = way[0].abs().max(way[1].abs()).ceil().clamp(1.0, LINE_DOTS_MAX);
        for step in 0..=steps as u32 {
            let share = step as f32 / steps;
            self.dot([from[0] + way[0] * share, from[1] + way[1] * share], ink);
        }
    }

    /// Draws the outline of a polygon.
    pub fn polygon(&mut self, points: &[[f32; 2]], ink: Ink) {
        for (index, from) in points.iter().enumerate() {
            self.line(*from, points[(index + 1) % points.len()], ink);
        }
    }

    /// Removes the dots inside a polygon, so that what lies behind it is hidden.
    pub fn clear(&mut self, points: &[[f32; 2]]) {
        let low = points.iter().fold(f32::INFINITY, |low, point| low.min(point[1])).max(0.0) as usize;
        let high = points.iter().fold(0.0f32, |high, point| high.max(point[1])).min(self.size()[1] - 1.0) as usize;
        for y in low..=high {
            let mut crossings = crossings(points, y as f32 + 0.5);
            crossings.sort_by(f32::total_cmp);
            for pair in crossings.chunks_exact(2) {
                let end = pair[1].min(self.size()[0]);
                for x in pair[0].max(0.0) as usize..end.max(0.0) as usize {
                    let cell = &mut self.cells[y / 4 * self.columns + x / 2];
                    cell.dots &= !DOTS[y % 4][x % 2];
                    if cell.dots == 0 {
                        cell.rank = 0;
                    }
                }
            }
        }
    }

    /// Writes the canvas to a buffer. Characters without dots stay as they are.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) {
        for (index, cell) in self.cells.iter().enumerate().filter(|(_, cell)| cell.dots > 0) {
            let (column, row) = (index % self.columns, index / self.columns);
            let position = (area.x + column as u16, area.y + row as u16);
            if let Some(target) = buffer.cell_mut(position) {
                let symbol = char::from_u32(BLANK + u32::from(cell.dots)).unwrap_or(' ');
                target.set_char(symbol).set_fg(cell.color);
            }
        }
    }
}

/// Returns where the outline of a polygon crosses a horizontal line.
fn crossings(points: &[[f32; 2]], y: f32) -> Vec<f32> {
    let edges = points.iter().enumerate().map(|(index, from)| (from, &points[(index + 1) % points.len()]));
    let crossing = edges.filter(|(from, to)| (from[1] <= y) != (to[1] <= y));
    crossing.map(|(from, to)| from[0] + (y - from[1]) / (to[1] - from[1]) * (to[0] - from[0])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INK: Ink = Ink { color: Color::White, rank: 1 };

    fn drawn(canvas: &Canvas, area: Rect) -> String {
        let mut buffer = Buffer::empty(area);
        canvas.render(area, &mut buffer);
        buffer.content().iter().map(|cell| cell.symbol()).collect()
    }

    #[test]
    fn dots_become_braille_characters() {
        let area = Rect::new(0, 0, 2, 1);
        let mut canvas = Canvas::new(area);
        canvas.dot([0.0, 0.0], INK);
        canvas.dot([1.9, 3.9], INK);
        canvas.dot([3.0, 1.0], INK);
        assert_eq!(drawn(&canvas, area), "⢁⠐");
    }

    #[test]
    fn anything_outside_is_ignored() {
        let area = Rect::new(0, 0, 3, 2);
        let mut canvas = Canvas::new(area);
        for outside in [[-1.0, 0.0], [6.0, 0.0], [0.0, 8.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
            canvas.dot(outside, INK);
            canvas.line(outside, [f32::NEG_INFINITY, f32::NAN], INK);
        }
        canvas.clear(&[[-9.0, -9.0], [90.0, -9.0], [90.0, 90.0], [-9.0, 90.0]]);
        assert_eq!(drawn(&canvas, area).trim(), "");
        let nothing = Rect::new(0, 0, 0, 0);
        let mut canvas = Canvas::new(nothing);
        canvas.line([0.0, 0.0], [10.0, 10.0], INK);
        canvas.clear(&[[0.0, 0.0], [5.0, 0.0], [5.0, 5.0]]);
        assert_eq!(drawn(&canvas, nothing), "");
    }

    #[test]
    fn a_cleared_polygon_hides_what_lies_behind_it() {
        let area = Rect::new(0, 0, 4, 2);
        let mut canvas = Canvas::new(area);
        canvas.line([0.0, 4.0], [7.0, 4.0], INK);
        canvas.clear(&[[2.0, 0.0], [6.0, 0.0], [6.0, 8.0], [2.0, 8.0]]);
        assert_eq!(drawn(&canvas, area).trim_start(), "⠉  ⠉");
    }
}
