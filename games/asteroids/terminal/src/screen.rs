//! The whole screen.

use crate::effects::Effects;
use crate::feed::Feed;
use crate::hud::{self, Network};
use crate::notice::Notice;
use crate::painter;
use crate::panels::{self, SIDE_WIDTH};
use crate::scene::Scene;
use crate::title;
use aether_asteroids_rules::PlayStatus;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Width of a screen from which it has a side panel.
const SIDE_SCREEN_MIN: u16 = 110;
/// Smallest screen.
const SCREEN_MIN: [u16; 2] = [24, 8];

/// Everything that the screen shows.
pub struct Screen<'a> {
    pub scene: &'a Scene,
    pub effects: &'a Effects,
    pub feed: &'a Feed,
    pub network: &'a Network,
    pub notice: Option<Notice>,
    /// Address of the server, and name of the player.
    pub identity: (&'a str, &'a str),
    /// Position that a small screen shows.
    pub camera_at: [f32; 2],
    /// Text that is shown for a while.
    pub announcement: Option<String>,
    /// Time since the start, in seconds.
    pub seconds: f32,
}

impl Screen<'_> {
    /// Draws the screen.
    pub fn paint(&self, area: Rect, buffer: &mut Buffer) {
        if area.width < SCREEN_MIN[0] || area.height < SCREEN_MIN[1] {
            buffer.set_stringn(
                area.x,
                area.y,
                "enlarge the terminal",
                area.width.into(),
                hud::style(crate::palette::VALUE),
            );
            return;
        }
        match &self.notice {
            Some(notice) if !matches!(notice, Notice::Reconnecting(_)) => self.paint_title(notice, area, buffer),
            _ => self.paint_game(area, buffer),
        }
    }

    fn paint_title(&self, notice: &Notice, area: Rect, buffer: &mut Buffer) {
        let below = title::paint(area, self.seconds, buffer);
        let (server, name) = self.identity;
        let mut texts = notice.lines(server, name);
        if *notice == Notice::Connecting {
            texts.push(spinner(self.seconds));
        }
        let rest = Rect::new(area.x, below, area.width, area.bottom().saturating_sub(below));
        panels::paint_message(notice.heading(), &texts, rest, buffer);
    }

    fn paint_game(&self, area: Rect, buffer: &mut Buffer) {
        let has_side = area.width >= SIDE_SCREEN_MIN;
        let side = if has_side { SIDE_WIDTH } else { 0 };
        let top = Rect { height: 1, ..area };
        let bottom = Rect { y: area.bottom() - 1, height: 1, ..area };
        let world = Rect::new(area.x, area.y + 1, area.width - side, area.height - 2);
        let camera = painter::paint(self.scene, self.effects, self.camera_at, world, buffer);
        hud::paint_top(self.scene, top, buffer);
        hud::paint_bottom(self.network, has_side, bottom, buffer);
        if has_side {
            let area = Rect::new(world.right(), world.y, side, world.height);
            panels::paint_side(self.scene, self.network, area, buffer);
        } else {
            panels::paint_corner(self.scene, world, buffer);
        }
        if !camera.is_whole {
            panels::paint_map(self.scene, world, buffer);
        }
        panels::paint_feed(self.feed, world, buffer);
        self.paint_overlay(world, buffer);
    }

    fn paint_overlay(&self, world: Rect, buffer: &mut Buffer) {
        let status = self.scene.standing().map(|standing| standing.status);
        if let Some(notice) = &self.notice {
            let mut texts = notice.lines(self.identity.0, self.identity.1);
            texts.push(spinner(self.seconds));
            panels::paint_message(notice.heading(), &texts, world, buffer);
        } else if status == Some(PlayStatus::GameOver) {
            panels::paint_game_over(self.scene, world, buffer);
        } else if status == Some(PlayStatus::Waiting) {
            panels::paint_announcement("GET READY", world, buffer);
        } else if let Some(text) = &self.announcement {
            panels::paint_announcement(text, world, buffer);
        }
    }
}

/// Text that changes while something is waited for.
fn spinner(seconds: f32) -> String {
    let at = (seconds * 6.0) as usize % 8;
    (0..5).map(|index| if index == at.min(8 - at) { '●' } else { '·' }).collect()
}
