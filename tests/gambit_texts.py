"""One game in both forms of Gambit's .nfg files."""

PAYOFFS = """NFG 1 R "Selten (IJGT, 75), Figure 2, normal form"
{ "Player 1" "Player 2" } { 3 2 }

1 1 0 2 0 2 1 1 0 3 2 0
"""
OUTCOMES = """NFG 1 R "Selten, with \\"outcomes\\""
{ "Player 1" "Player 2" }
{ { "top" "middle" "bottom" } { "left" "right" } }
"A comment, over
two lines"
{
{ "all" 1, 1 }
{ "half" 0, 4/2 }
{ "" 0, 3.0 }
{ "odd" 2e0, 0 }
}
1 2 2 1 3 4
"""
