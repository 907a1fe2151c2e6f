"""What result rows say: leaderboard, comparisons, tables, figures and the report. Nothing here plays."""
