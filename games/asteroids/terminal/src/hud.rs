//! First and last row of the screen.

use crate::palette;
use crate::scene::Scene;
use aether_asteroids_rules::LIVES_MAX;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use std::time::Duration;

/// Background of both rows.
const BACKGROUND: Color = Color::Indexed(234);
/// Round trip above which it is shown as a warning.
const PING_WARNING: Duration = Duration::from_millis(150);
/// Share of lost packets above which it is shown as a warning.
const LOSS_WARNING: f32 = 0.02;

/// State of the connection.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Round trip.
    pub ping: Option<Duration>,
    /// Share of lost packets.
    pub loss: f32,
    /// Transport.
    pub transport: Option<&'static str>,
    /// Code of the room.
    pub room: String,
}

impl Network {
    /// Short text, with warnings in colour.
    pub fn spans(&self) -> Vec<Span<'static>> {
        let Some(transport) = self.transport else { return vec![Span::styled("offline", style(palette::WARNING))] };
        let ping = self.ping.map_or("- ms".to_owned(), |ping| format!("{} ms", ping.as_millis()));
        let color = |is_bad: bool| if is_bad { palette::WARNING } else { palette::VALUE };
        vec![
            Span::styled(format!("{transport}  "), style(palette::ACCENT)),
            Span::styled("ping ", style(palette::LABEL)),
            Span::styled(ping, style(color(self.ping.is_some_and(|ping| ping > PING_WARNING)))),
            Span::styled("  loss ", style(palette::LABEL)),
            Span::styled(format!("{:.1} %", self.loss * 100.0), style(color(self.loss > LOSS_WARNING))),
        ]
    }
}

/// Draws the first row: points, lives, the wave and the highest score.
pub fn paint_top(scene: &Scene, area: Rect, buffer: &mut Buffer) {
    buffer.set_style(area, Style::new().bg(BACKGROUND));
    let (score, lives) = scene.standing().map_or((0, 0), |standing| (standing.score, standing.lives));
    let label = |text: &'static str| Span::styled(text, style(palette::LABEL));
    let left = Line::from(vec![
        label(" SCORE "),
        Span::styled(thousands(score), style(palette::ACCENT).add_modifier(Modifier::BOLD)),
        label("   LIVES "),
        Span::styled("▲".repeat(usize::from(lives.min(LIVES_MAX))), style(palette::LIFE)),
    ]);
    let wave = scene.wave.as_ref().map_or(0, |wave| wave.number);
    let middle = Line::from(vec![label("WAVE "), Span::styled(wave.to_string(), bold(palette::VALUE))]);
    let high = scene.high_scores.first();
    let right = high.map_or(Line::default(), |high| {
        Line::from(vec![
            label("HIGH "),
            Span::styled(thousands(high.score), bold(palette::VALUE)),
            Span::styled(format!(" {} ", high.name), style(palette::LABEL)),
        ])
    });
    three(left, middle, right, area, buffer);
}

/// Draws the last row: keys and the connection.
pub fn paint_bottom(network: &Network, has_panel: bool, area: Rect, buffer: &mut Buffer) {
    buffer.set_style(area, Style::new().bg(BACKGROUND));
    let mut spans = vec![Span::raw(" ")];
    for (key, meaning) in [("↑", "thrust"), ("←→", "turn"), ("space", "fire"), ("q", "quit")] {
        spans.push(Span::styled(key, style(palette::VALUE)));
        spans.push(Span::styled(format!(" {meaning}  "), style(palette::LABEL)));
    }
    let mut right = if has_panel { Vec::new() } else { network.spans() };
    right.push(Span::raw(" "));
    three(Line::from(spans), Line::default(), Line::from(right), area, buffer);
}

/// Draws three texts in a row. The middle and then the right one are left out if there is no space.
fn three(left: Line<'_>, middle: Line<'_>, right: Line<'_>, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    buffer.set_line(area.x, area.y, &left, area.width);
    let right_at = width.saturating_sub(right.width());
    let has_right = right_at > left.width();
    if has_right {
        buffer.set_line(area.x + right_at as u16, area.y, &right, area.width);
    }
    let middle_at = width.saturating_sub(middle.width()) / 2;
    let end = if has_right { right_at } else { width };
    if middle_at > left.width() + 1 && middle_at + middle.width() < end {
        buffer.set_line(area.x + middle_at as u16, area.y, &middle, area.width);
    }
}

/// Formats a number with separators.
pub fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Style of a colour.
pub fn style(color: Color) -> Style {
    Style::new().fg(color)
}

/// Bold style of a colour.
pub fn bold(color: Color) -> Style {
    style(color).add_modifier(Modifier::BOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators() {
        let numbers = [0, 999, 1_000, 12_345, 4_294_967_295].map(thousands);
        assert_eq!(numbers, ["0", "999", "1,000", "12,345", "4,294,967,295"]);
    }

    #[test]
    fn a_narrow_row_keeps_the_score() {
        let area = Rect::new(0, 0, 24, 1);
        let mut buffer = Buffer::empty(area);
        paint_top(&Scene::default(), area, &mut buffer);
        let text: String = buffer.content().iter().map(|cell| cell.symbol()).collect();
        assert!(text.starts_with(" SCORE 0"), "{text}");
    }
}
